// HTTP and HTTPS requests: whole pages into memory, large files onto the disk.
//
// The environment decides as curl's users expect: http_proxy, https_proxy, all_proxy, no_proxy;
// certificates by CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE or SSL_CERT_FILE, else the system's; passwords
// by ~/.netrc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace axle {

/// A server can't be reached, or answers something else than what was asked for. The message begins
/// with the address, without its password.
struct HttpError : Error {
  explicit HttpError(const std::string& message, int http_status = 0)
      : Error(message, ExitCode::kStorage), status(http_status) {}
  int status;  // 404, ...; 0: there was no answer
};

struct HttpOptions {
  /// "Accept: text/html".
  std::vector<std::string> headers = {};
  /// A file of certificates and a proxy; empty: those of the environment.
  std::string ca_file = {}, proxy = {};
  int64_t connect_timeout_secs = 30;
  /// A transfer ends when nothing arrives for so long.
  int64_t stall_timeout_secs = 60;
  /// A transfer ends with an error when more arrives; 0: any size is good.
  int64_t max_bytes = 0;
  /// Called with the bytes so far and in all (0: not known), every second or more often, also while
  /// there is no connection yet; false ends the transfer.
  std::function<bool(int64_t, int64_t)> progress = {};
};

struct HttpPage {
  std::string body;
  std::string content_type;  // "text/html; charset=utf-8"
  std::string url;           // where redirects led
};

/// Follows redirects. Throws HttpError for every answer but 200, and for a page over 64 MiB where
/// max_bytes says nothing else.
HttpPage http_get(const std::string& url, const HttpOptions& options = {});
/// Into `file`, which must not be trusted or kept when this throws: HttpError, StorageError.
void http_download(const std::string& url, const std::filesystem::path& file,
                   const HttpOptions& options = {});

/// `reference` as a page at `base` means it: "../a.whl" -> "https://host/a.whl". Throws HttpError.
std::string resolve_url(const std::string& base, const std::string& reference);
/// The address for messages: without user and password. What is no address stays as it is.
std::string printable_url(const std::string& url);

}  // namespace axle
