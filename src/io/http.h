// HTTP and HTTPS requests: pages into memory, large files to the disk.
//
// Settings come from the environment, as curl's users expect: proxies from http_proxy, https_proxy,
// all_proxy and no_proxy; certificates from CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE or SSL_CERT_FILE,
// else the system's; passwords from ~/.netrc.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
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

// libcurl, loaded on first use. With the thirty libraries that it depends on, it would take half of
// the program's load time.

/// The functions of libcurl, named without "curl_".
struct CurlLibrary {
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_perform) easy_perform;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_free) free;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
  decltype(&::curl_url) url;
  decltype(&::curl_url_cleanup) url_cleanup;
  decltype(&::curl_url_get) url_get;
  decltype(&::curl_url_set) url_set;
  decltype(&::curl_url_strerror) url_strerror;
};

/// Returns the loaded library. Throws HttpError if it can't be loaded.
const CurlLibrary& curl();

struct CloseCurl {
  void operator()(CURL* handle) const { curl().easy_cleanup(handle); }
  void operator()(curl_slist* list) const { curl().slist_free_all(list); }
  void operator()(CURLU* url) const { curl().url_cleanup(url); }
  void operator()(char* text) const { curl().free(text); }
};
/// Owns an object made by libcurl.
template <class T>
using Curl = std::unique_ptr<T, CloseCurl>;

}  // namespace axle
