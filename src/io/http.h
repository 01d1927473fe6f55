// HTTP and HTTPS requests: pages into memory, large files to the disk.
//
// Settings come from the environment, as curl's users expect: proxies from http_proxy, https_proxy,
// all_proxy and no_proxy; certificates from CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE or SSL_CERT_FILE,
// else the system's; passwords from ~/.netrc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace axle {

/// A server can't be reached, or does not answer as expected. The message begins with the address,
/// without its password.
struct HttpError : Error {
  explicit HttpError(const std::string& message, int http_status = 0)
      : Error(message, ExitCode::kStorage), status(http_status) {}
  int status;  // 404, ...; 0: no answer
};

struct HttpOptions {
  /// Header lines such as "Accept: text/html".
  std::vector<std::string> headers = {};
  /// A file of certificates, and a proxy. Empty: taken from the environment.
  std::string ca_file = {}, proxy = {};
  /// A transfer fails if more data arrives. 0: no limit (http_get: 64 MiB).
  int64_t max_bytes = 0;
  /// Called every second or more often, even before a connection exists, with the bytes so far and
  /// the total (0: unknown). Returning false cancels the transfer.
  std::function<bool(int64_t, int64_t)> progress = {};
};

struct HttpPage {
  std::string body;
  std::string content_type;  // "text/html; charset=utf-8"
  std::string url;           // the address after redirects
};

/// Fetches a page and follows redirects. Throws HttpError for any status but 200, for a page larger
/// than max_bytes (by default 64 MiB), if no connection exists after 30 seconds, and if no data
/// arrives for 60.
HttpPage http_get(const std::string& url, const HttpOptions& options = {});
/// Writes the response to `file`. Throws HttpError as http_get does, or StorageError; the file is
/// then incomplete and must not be used.
void http_download(const std::string& url, const std::filesystem::path& file,
                   const HttpOptions& options = {});

/// Resolves `reference` relative to the page at `base`: "../a.whl" -> "https://host/a.whl". Throws
/// HttpError.
std::string resolve_url(const std::string& base, const std::string& reference);
/// Returns the address for messages, without user and password. A text that is no address stays as
/// it is.
std::string printable_url(const std::string& url);

}  // namespace axle
