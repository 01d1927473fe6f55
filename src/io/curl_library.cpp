#include "io/curl_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "io/http.h"

namespace axle {
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
