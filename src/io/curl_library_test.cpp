#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "io/http.h"

namespace axle {
namespace {

bool is_loaded() { return ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_NOLOAD) != nullptr; }

TEST(CurlLibrary, IsLoadedOnceItIsUsed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // each death test runs in a process of its own
  EXPECT_EXIT(std::exit(is_loaded()), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT((curl(), std::exit(is_loaded())), ::testing::ExitedWithCode(1), "");
}

TEST(CurlLibrary, ReleasesItsObjects) {
  const Curl<CURLU> url(curl().url());
  ASSERT_EQ(curl().url_set(url.get(), CURLUPART_URL, "http://a/b", 0), CURLUE_OK);
  char* text = nullptr;
  ASSERT_EQ(curl().url_get(url.get(), CURLUPART_PATH, &text, 0), CURLUE_OK);
  EXPECT_EQ(std::string(Curl<char>(text).get()), "/b");
}

}  // namespace
}  // namespace axle
