#include "io/http.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <exception>

#include "base/process_start.h"
#include "base/text/text.h"
#include "io/file.h"

namespace axle {
namespace {

constexpr int64_t kMaxPageBytes = int64_t{64} << 20;
constexpr long kConnectTimeoutSecs = 30;
constexpr long kStallTimeoutSecs = 60;  // without any data
constexpr long kMaxRedirects = 10;

/// Returns the file of certificates from the environment, in the order in which other programs
/// look.
std::string ca_file_of_environment() {
  for (const char* name : {"CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"}) {
    if (std::string file = environment_variable(name); !file.empty()) return file;
  }
  return {};
}

/// The data that libcurl's callbacks need for one transfer. Exceptions must not pass through
/// libcurl, so they are stored here.
struct Transfer {
  const std::string& url;
  const HttpOptions& options;
  std::function<void(std::string_view)> sink;
  std::exception_ptr failure = {};
  bool is_cancelled = false;
  CURL* handle = nullptr;
  int64_t num_bytes = 0;

  void take(std::string_view bytes) {
    num_bytes += std::ssize(bytes);
    if (options.max_bytes > 0 && num_bytes > options.max_bytes) {
      throw HttpError(fmt::format("{}: expected at most {} bytes, got more", printable_url(url),
                                  options.max_bytes));
    }
    sink(bytes);
  }
};

size_t on_bytes(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  long status = 0;
  curl().easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) return size * count;  // ignore the body of an error page
  try {
    transfer.take({data, size * count});
    return size * count;
  } catch (...) {
    transfer.failure = std::current_exception();
    return 0;
  }
}

int on_progress(void* user, curl_off_t total, curl_off_t now, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (!transfer.options.progress) return 0;
  try {
    transfer.is_cancelled = !transfer.options.progress(now, total);
  } catch (...) {
    transfer.failure = std::current_exception();
  }
  return transfer.is_cancelled || transfer.failure ? 1 : 0;
}

void apply(const HttpOptions& options, CURL* handle) {
  curl().easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl().easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl().easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 1L);
  curl().easy_setopt(handle, CURLOPT_MAXREDIRS, kMaxRedirects);
  curl().easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl().easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "");
  curl().easy_setopt(handle, CURLOPT_USERAGENT, "axle");
  curl().easy_setopt(handle, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
  curl().easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, kConnectTimeoutSecs);
  curl().easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl().easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, kStallTimeoutSecs);
  const std::string ca_file = options.ca_file.empty() ? ca_file_of_environment() : options.ca_file;
  if (!ca_file.empty()) curl().easy_setopt(handle, CURLOPT_CAINFO, ca_file.c_str());
  const std::string ca_folder = environment_variable("SSL_CERT_DIR");
  if (!ca_folder.empty()) curl().easy_setopt(handle, CURLOPT_CAPATH, ca_folder.c_str());
  if (!options.proxy.empty()) curl().easy_setopt(handle, CURLOPT_PROXY, options.proxy.c_str());
}

std::string one_line(std::string_view text) {
  std::string out(trim(text));
  for (char& c : out) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return out;
}

HttpPage request(const std::string& url, const HttpOptions& options,
                 std::function<void(std::string_view)> sink) {
  Transfer transfer{.url = url, .options = options, .sink = std::move(sink)};
  const std::string where = printable_url(url);
  const Curl<CURL> handle(curl().easy_init());
  if (!handle) throw HttpError(fmt::format("{}: expected a working libcurl, got none", where));
  char reason[CURL_ERROR_SIZE] = "";
  Curl<curl_slist> headers;
  for (const std::string& header : options.headers)
    headers.reset(curl().slist_append(headers.release(), header.c_str()));
  transfer.handle = handle.get();
  apply(options, handle.get());
  curl().easy_setopt(handle.get(), CURLOPT_URL, url.c_str());
  curl().easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  curl().easy_setopt(handle.get(), CURLOPT_ERRORBUFFER, reason);
  curl().easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, on_bytes);
  curl().easy_setopt(handle.get(), CURLOPT_WRITEDATA, &transfer);
  curl().easy_setopt(handle.get(), CURLOPT_XFERINFOFUNCTION, on_progress);
  curl().easy_setopt(handle.get(), CURLOPT_XFERINFODATA, &transfer);
  curl().easy_setopt(handle.get(), CURLOPT_NOPROGRESS, 0L);

  const CURLcode result = curl().easy_perform(handle.get());
  if (transfer.failure) std::rethrow_exception(transfer.failure);
  if (transfer.is_cancelled) throw HttpError(fmt::format("{}: stopped while loading", where));
  if (result != CURLE_OK) {
    throw HttpError(fmt::format("{}: expected an answer, got: {}", where,
                                one_line(*reason ? reason : curl().easy_strerror(result))));
  }
  long status = 0;
  char* text = nullptr;
  HttpPage page;
  curl().easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != 200)
    throw HttpError(fmt::format("{}: expected HTTP status 200, got {}", where, status),
                    static_cast<int>(status));
  if (curl().easy_getinfo(handle.get(), CURLINFO_CONTENT_TYPE, &text) == CURLE_OK && text)
    page.content_type = text;
  if (curl().easy_getinfo(handle.get(), CURLINFO_EFFECTIVE_URL, &text) == CURLE_OK && text)
    page.url = text;
  return page;
}

/// Returns a part of the address; "" if the address lacks it.
std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl().url_get(url, part, &text, 0) != CURLUE_OK) return {};
  return Curl<char>(text).get();
}

}  // namespace

HttpPage http_get(const std::string& url, const HttpOptions& options) {
  std::string body;
  HttpOptions with_limit = options;
  if (with_limit.max_bytes == 0) with_limit.max_bytes = kMaxPageBytes;
  HttpPage page = request(url, with_limit, [&](std::string_view bytes) { body += bytes; });
  page.body = std::move(body);
  return page;
}

void http_download(const std::string& url, const std::filesystem::path& file,
                   const HttpOptions& options) {
  FileWriter writer(file);
  request(url, options, [&](std::string_view bytes) { writer.write(bytes); });
  writer.close();
}

std::string resolve_url(const std::string& base, const std::string& reference) {
  const Curl<CURLU> url(curl().url());
  CURLUcode result = curl().url_set(url.get(), CURLUPART_URL, base.c_str(), 0);
  if (result == CURLUE_OK)
    result = curl().url_set(url.get(), CURLUPART_URL, reference.c_str(), CURLU_URLENCODE);
  if (result != CURLUE_OK) {
    throw HttpError(fmt::format("{}: expected an address, got '{}': {}", printable_url(base),
                                printable_url(reference), curl().url_strerror(result)));
  }
  return part_of(url.get(), CURLUPART_URL);
}

std::string printable_url(const std::string& text) {
  const Curl<CURLU> url(curl().url());
  if (curl().url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return text;
  if (part_of(url.get(), CURLUPART_USER).empty() && part_of(url.get(), CURLUPART_PASSWORD).empty())
    return text;
  curl().url_set(url.get(), CURLUPART_USER, nullptr, 0);
  curl().url_set(url.get(), CURLUPART_PASSWORD, nullptr, 0);
  return part_of(url.get(), CURLUPART_URL);
}

namespace {

constexpr const char* kFile = "libcurl.so.4";

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (!function)
    throw HttpError(fmt::format("{}: expected the function {}, got none", kFile, name));
}

CurlLibrary load_library() {
  void* const library = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw HttpError(fmt::format(
        "{}: expected a library that can be loaded, got {}; install libcurl4", kFile, ::dlerror()));
  CurlLibrary out;
  find(library, "curl_easy_cleanup", out.easy_cleanup);
  find(library, "curl_easy_getinfo", out.easy_getinfo);
  find(library, "curl_easy_init", out.easy_init);
  find(library, "curl_easy_perform", out.easy_perform);
  find(library, "curl_easy_setopt", out.easy_setopt);
  find(library, "curl_easy_strerror", out.easy_strerror);
  find(library, "curl_free", out.free);
  find(library, "curl_slist_append", out.slist_append);
  find(library, "curl_slist_free_all", out.slist_free_all);
  find(library, "curl_url", out.url);
  find(library, "curl_url_cleanup", out.url_cleanup);
  find(library, "curl_url_get", out.url_get);
  find(library, "curl_url_set", out.url_set);
  find(library, "curl_url_strerror", out.url_strerror);
  decltype(&::curl_global_init) global_init;
  find(library, "curl_global_init", global_init);
  if (const CURLcode code = global_init(CURL_GLOBAL_DEFAULT); code != CURLE_OK)
    throw HttpError(fmt::format("{}: can't be used: {}", kFile, out.easy_strerror(code)));
  return out;
}

}  // namespace

const CurlLibrary& curl() {
  // global_init is not thread-safe everywhere; the initialisation of a static is.
  static const CurlLibrary loaded = load_library();
  return loaded;
}

}  // namespace axle
