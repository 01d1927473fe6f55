// libcurl, loaded on first use. With the thirty libraries that it depends on, it would take half of
// the program's load time.
#pragma once

#include <curl/curl.h>

#include <memory>

namespace axle {

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
