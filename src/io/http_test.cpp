#include "io/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "io/file.h"
#include "testing/error_of.h"
#include "testing/http_server.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Keeps a proxy of this machine from being used for the loopback device.
const bool no_proxy = ::setenv("no_proxy", "127.0.0.1", 1) == 0;

TestResponse answer(const TestRequest& request) {
  if (request.path == "/page") return {.body = "hello", .headers = {{"Content-Type", "text/x"}}};
  if (request.path == "/moved")
    return {.status = 302, .body = "go", .headers = {{"Location", "page"}}};
  if (request.path == "/loop") return {.status = 302, .headers = {{"Location", "/loop"}}};
  if (request.path == "/file")
    return {.status = 302, .headers = {{"Location", "file:///etc/passwd"}}};
  if (request.path == "/cut") return {.body = "half", .missing_bytes = 4};
  if (request.path == "/large") return {.body = std::string(3 << 20, 'x')};
  return {.status = 404, .body = "a long page\nabout the error"};
}

template <class F>
std::string http_error(F call) {
  const std::string error = error_of<HttpError>(call);
  EXPECT_EQ(error.find('\n'), error.npos) << error;
  return error;
}

TEST(Http, PagesAndRedirects) {
  const HttpServer server(answer);
  const HttpPage page = http_get(server.url("/page"), {.headers = {"Accept: text/x"}});
  EXPECT_EQ(page.body, "hello");
  EXPECT_EQ(page.content_type, "text/x");
  EXPECT_THAT(server.requests().at(0).head, HasSubstr("Accept: text/x\r\n"));
  const HttpPage moved = http_get(server.url("/moved"));
  EXPECT_EQ(moved.body, "hello") << "the redirect's own body is not part of the page";
  EXPECT_EQ(moved.url, server.url("/page"));
}

TEST(Http, ErrorsAreOneLineThatNamesTheUrl) {
  const HttpServer server(answer);
  EXPECT_EQ(http_error([&] { http_get(server.url("/absent")); }),
            server.url("/absent") + ": expected HTTP status 200, got 404");
  EXPECT_THAT(http_error([&] { http_get(server.url("/loop")); }), HasSubstr("redirects"));
  EXPECT_THAT(http_error([&] { http_get(server.url("/cut")); }),
              StartsWith(server.url("/cut") + ": expected an answer, got: "));
  EXPECT_THAT(http_error([&] { http_get("file:///etc/passwd"); }), HasSubstr("rotocol"));
  EXPECT_THAT(http_error([&] { http_get(server.url("/file")); }), HasSubstr("rotocol"));
  EXPECT_THAT(http_error([&] { http_get("no address"); }), StartsWith("no address: "));
  try {
    http_get(server.url("/absent"));
    FAIL() << "expected HttpError";
  } catch (const HttpError& error) {
    EXPECT_EQ(error.status, 404);
    EXPECT_EQ(error.code(), ExitCode::kStorage);
  }
}

TEST(Http, AServerThatIsNotThere) {
  std::string url;
  { url = HttpServer(answer).url("/page"); }
  EXPECT_THAT(http_error([&] { http_get(url); }), StartsWith(url + ": expected an answer, got: "));
}

TEST(Http, DownloadsReportTheirProgress) {
  const HttpServer server(answer);
  const TempDir dir;
  int64_t last = 0, total = 0;
  http_download(server.url("/large"), dir / "file", {.progress = [&](int64_t now, int64_t all) {
                  EXPECT_GE(now, last);
                  last = now;
                  total = all;
                  return true;
                }});
  EXPECT_EQ(read_file(dir / "file"), std::string(3 << 20, 'x'));
  EXPECT_EQ(last, 3 << 20);
  EXPECT_EQ(total, 3 << 20);
}

TEST(Http, ADownloadCanBeStopped) {
  const HttpServer server(answer);
  const TempDir dir;
  const auto stopped = [&](auto progress) {
    return http_error(
        [&] { http_download(server.url("/large"), dir / "file", {.progress = progress}); });
  };
  EXPECT_THAT(stopped([](int64_t, int64_t) { return false; }), HasSubstr("stopped while loading"));
  struct Ctrl {};
  EXPECT_THROW(stopped([](int64_t, int64_t) -> bool { throw Ctrl(); }), Ctrl);
  // A full disk: the file system's own error is passed on.
  EXPECT_THROW(http_download(server.url("/large"), "/dev/full"), StorageError);
}

TEST(Http, TransfersAreLimitedInSize) {
  const HttpServer server(answer);
  const TempDir dir;
  const auto error = [&](int64_t max_bytes) {
    return http_error(
        [&] { http_download(server.url("/large"), dir / "file", {.max_bytes = max_bytes}); });
  };
  EXPECT_EQ(error(3 << 20), "no error");
  EXPECT_EQ(error((3 << 20) - 1),
            server.url("/large") + ": expected at most 3145727 bytes, got more");
  EXPECT_EQ(error(10), server.url("/large") + ": expected at most 10 bytes, got more");
  EXPECT_LE(file_bytes(dir / "file"), 10);
  EXPECT_EQ(http_error([&] { http_get(server.url("/page"), {.max_bytes = 4}); }),
            server.url("/page") + ": expected at most 4 bytes, got more");
}

TEST(Http, AddressesRelativeToAPage) {
  EXPECT_EQ(resolve_url("https://host/simple/pkg/", "../../files/a%2B1.whl#sha256=0"),
            "https://host/files/a%2B1.whl#sha256=0");
  EXPECT_EQ(resolve_url("https://host/simple/pkg/", "https://other/a.whl"), "https://other/a.whl");
  EXPECT_EQ(resolve_url("https://host/simple/", "pkg/"), "https://host/simple/pkg/");
  EXPECT_THROW(resolve_url("nonsense", "a"), HttpError);
}

TEST(Http, PasswordsAreNotPrinted) {
  EXPECT_EQ(printable_url("https://me:secret@host/simple/"), "https://host/simple/");
  EXPECT_EQ(printable_url("https://token@host/"), "https://host/");
  EXPECT_EQ(printable_url("https://host/a?b=c"), "https://host/a?b=c");
  EXPECT_EQ(printable_url("nonsense"), "nonsense");
  EXPECT_EQ(http_error([&] { http_get("ftp://me:secret@host/x"); }).find("secret"),
            std::string::npos);
}

}  // namespace
}  // namespace axle
