#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fetch/fetch_plugin.h"
#include "io/file.h"
#include "testing/environment_change.h"
#include "testing/error_of.h"
#include "testing/http_server.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kA(64, 'a'), kB(64, 'b');

/// Hides the settings of the machine that runs the tests.
class PackageIndex : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& name, const std::string& text) {
    replace_file(dir_.path() / name, text);
    return dir_.path() / name;
  }
  const TempDir dir_;
  EnvironmentChange index_url_{"AXLE_INDEX_URL", std::nullopt},
      pip_url_{"PIP_INDEX_URL", std::nullopt}, more_urls_{"PIP_EXTRA_INDEX_URL", std::nullopt},
      cert_{"PIP_CERT", std::nullopt}, proxy_{"PIP_PROXY", std::nullopt},
      no_proxy_{"no_proxy", "127.0.0.1"};
};

TEST_F(PackageIndex, PublicIndexIsTheDefault) {
  EXPECT_THAT(package_indexes({dir_.path() / "absent"}).urls,
              ElementsAre("https://pypi.org/simple"));
}

TEST_F(PackageIndex, PipsFilesAndVariables) {
  const auto weak = file("weak.conf",
                         "# a comment\n[global]\nindex-url: https://weak/simple\ncert = /weak.pem\n"
                         "extra-index-url:\n    https://one/simple\n    https://two/simple\n");
  const auto strong = file("strong.conf",
                           "[Global]\nindex_url=https://strong/simple\n"
                           "[install]\nindex-url: https://other/simple\n");
  PackageIndexes indexes = package_indexes({weak, strong});
  EXPECT_THAT(indexes.urls,
              ElementsAre("https://strong/simple", "https://one/simple", "https://two/simple"));
  EXPECT_EQ(indexes.ca_file, "/weak.pem");
  const auto special = file("special.conf", "[download]\nindex-url: https://special/simple\n");
  EXPECT_EQ(package_indexes({special, strong}).urls.at(0), "https://special/simple");
  pip_url_.set("https://variable/simple");
  cert_.set("/variable.pem");
  indexes = package_indexes({weak, strong});
  EXPECT_EQ(indexes.urls.at(0), "https://variable/simple");
  EXPECT_EQ(indexes.urls.size(), 3u);
  EXPECT_EQ(indexes.ca_file, "/variable.pem");
  index_url_.set("https://ours/simple");
  EXPECT_THAT(package_indexes({weak, strong}).urls, ElementsAre("https://ours/simple"))
      << "alone: others may not be reachable";
  index_url_.set(" https://a/simple  https://b/simple ");
  EXPECT_THAT(package_indexes({}).urls, ElementsAre("https://a/simple", "https://b/simple"));
  index_url_.set(" ");
  EXPECT_THAT(package_indexes({}).urls, ElementsAre("https://variable/simple"));
}

TEST_F(PackageIndex, FilesThatCannotBeReadAreSkipped) {
  const auto loop = dir_.path() / "loop";
  std::filesystem::create_symlink(loop, loop);
  EXPECT_THAT(package_indexes({loop, dir_.path(), dir_.path() / std::string(300, 'x'), "/dev/tty",
                               file("good.conf", "[global]\nindex-url: https://good/simple\n"),
                               dir_.path() / "good.conf/pip.conf"})
                  .urls,
              ElementsAre("https://good/simple"));
}

TEST_F(PackageIndex, ConfigFilesMatchPip) {
  EnvironmentChange config_file("PIP_CONFIG_FILE", "/mine.conf");
  EXPECT_EQ(pip_config_files().back(), "/mine.conf");
  EXPECT_THAT(pip_config_files(), ::testing::Contains("/etc/pip.conf"));
  config_file.set("/dev/null");
  EXPECT_TRUE(pip_config_files().empty());
}

TEST_F(PackageIndex, PagesOfBothKinds) {
  const std::string html = "<a href=\"../../f/a.whl?x=1&amp;y=2#sha256=" + kA +
                           "\" data-requires-python=\"&gt;=3\">a</a>\n<a class='x' href = 'b.whl'>"
                           "no hash</a><A href='https://other/c.whl#sha256=" +
                           kB + "'>c</A>";
  const std::map<std::string, std::string> expected = {{kA, "https://host/f/a.whl?x=1&y=2"},
                                                       {kB, "https://other/c.whl"}};
  EXPECT_EQ(files_of_index_page({html, "text/html", "https://host/simple/pkg/"}), expected);
  const std::string json = R"({"files": [{"url": "../../f/a.whl?x=1&y=2", "hashes": {"sha256": ")" +
                           kA + R"("}}, {"url": "b.whl", "hashes": {}},
      {"url": "https://other/c.whl", "hashes": {"sha256": ")" +
                           kB + R"("}}]})";
  EXPECT_EQ(files_of_index_page(
                {json, "application/vnd.pypi.simple.v1+json", "https://host/simple/pkg/"}),
            expected);
  for (const char* page : {"{", R"({"files": [7]})"})
    EXPECT_THROW(files_of_index_page({page, "application/json", "https://host/"}), HttpError);
  EXPECT_TRUE(files_of_index_page({"<a href=", "text/html", "https://host/"}).empty());
}

TEST_F(PackageIndex, TheFirstIndexWithTheHashWins) {
  const HttpServer server([](const TestRequest& request) -> TestResponse {
    if (request.path == "/two/my-pkg-x/") {
      return {.body = "<a href=\"w.whl#sha256=" + kA + "\">w</a>",
              .headers = {{"Content-Type", "text/html"}}};
    }
    if (request.path == "/broken/my-pkg-x/") return {.status = 500};
    return {.status = 404};
  });
  const PinnedWheel wheel{.name = "My.Pkg_x", .version = "1", .sha256 = kA, .file = "f"};
  EXPECT_EQ(wheel_address({.urls = {server.url("/one"), server.url("/two/")}}, wheel),
            server.url("/two/my-pkg-x/w.whl"));
  EXPECT_EQ(wheel_address({.urls = {server.url("/broken"), server.url("/two")}}, wheel),
            server.url("/two/my-pkg-x/w.whl"));
  const auto http_error = [&](const PackageIndexes& indexes, const PinnedWheel& wanted) {
    return error_of<HttpError>([&] { wheel_address(indexes, wanted); });
  };
  PinnedWheel other = wheel;
  other.sha256 = kB;
  EXPECT_EQ(http_error({.urls = {server.url("/one"), server.url("/two")}}, other),
            server.url("/one/my-pkg-x/") + ", " + server.url("/two/my-pkg-x/") +
                ": expected My.Pkg_x 1 with sha256 " + kB + ", got no such file");
  EXPECT_THAT(http_error({.urls = {server.url("/one"), server.url("/broken")}}, wheel),
              HasSubstr("got 500"));
}

TEST_F(PackageIndex, ALookUpCanBeStopped) {
  bool is_stopped = false;
  const HttpServer server([&](const TestRequest&) -> TestResponse {
    is_stopped = true;
    return {.status = 404};
  });
  const PinnedWheel wheel{.name = "pkg", .version = "1", .sha256 = kA, .file = "f"};
  EXPECT_THROW(wheel_address({.urls = {server.url("/one"), server.url("/two")}}, wheel,
                             [&] { return !is_stopped; }),
               HttpError);
  EXPECT_THAT(server.requests(), ::testing::SizeIs(1)) << "the next index is not tried";
}

}  // namespace
}  // namespace axle
