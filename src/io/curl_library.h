// libcurl, loaded when something is first asked of it: with the thirty libraries that it brings
// along it takes half of the time in which the program is loaded.
#pragma once

#include <curl/curl.h>

#include <memory>

namespace axle {

/// Functions of libcurl, by their names without "curl_".
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

/// Ready for use. Throws HttpError where it can't be loaded.
const CurlLibrary& curl();

struct CloseCurl {
  void operator()(CURL* handle) const { curl().easy_cleanup(handle); }
  void operator()(curl_slist* list) const { curl().slist_free_all(list); }
  void operator()(CURLU* url) const { curl().url_cleanup(url); }
  void operator()(char* text) const { curl().free(text); }
};
/// Something that libcurl has made.
template <class T>
using Curl = std::unique_ptr<T, CloseCurl>;

}  // namespace axle
