#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "fetch/fetch_plugin.h"
#include "io/file.h"
#include "io/file_lock.h"
#include "pjrt/plugin/find_plugin.h"
#include "testing/environment_change.h"
#include "testing/error_of.h"
#include "testing/http_server.h"
#include "testing/temp_dir.h"
#include "testing/zip_writer.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A package index with two packages, a plugin and a tool that the plugin needs. Both unpack into
/// one common folder.
class FetchPlugin : public ::testing::Test {
 protected:
  TestResponse answer(const TestRequest& request) {
    const std::string& path = request.path;
    if (path.starts_with("/simple/")) {
      const std::string& wheel = path == "/simple/chip-plugin/" ? plugin_ : tool_;
      return {.body = "<a href='/files" + path.substr(7) + "x.whl#sha256=" + sha256_hex(wheel) +
                      "'>x</a>",
              .headers = {{"Content-Type", "text/html"}}};
    }
    TestResponse out{.body = path.starts_with("/files/chip-plugin/") ? plugin_ : tool_};
    if (path.starts_with("/files/chip-tool/")) {
      if (is_tool_corrupt_) out.body.back() ^= 1;
      if (is_tool_cut_) out.missing_bytes = 100;
    }
    return out;
  }

  std::filesystem::path plugins() const { return home_.path() / ".axle/plugins"; }
  PluginPins pins() const {
    return parse_plugin_pins(
        "chip", "# file: chip/axle_fetch_test_plugin.so\nchip-plugin==1.0 --hash=sha256:" +
                    sha256_hex(plugin_) + "  # 2000000 bytes\n# file: chip/bin/tool\n" +
                    "chip-tool==2.0 --hash=sha256:" + sha256_hex(tool_) + "  # 1000000 bytes\n");
  }
  /// Returns the error of `ensure_plugin` and checks that it has left no files behind.
  std::string error_of(const FetchOptions& options, ExitCode code = ExitCode::kDevice) {
    const PluginPins list = pins();
    const Thrown error = thrown_by<DeviceError>([&] { ensure_plugin(policy_, &list, options); });
    if (error.code == ExitCode::kOk) return error.message;
    EXPECT_EQ(error.code, code);
    EXPECT_EQ(find_plugin_file(policy_), std::nullopt);
    if (path_exists(plugins())) {
      EXPECT_THAT(list_directory(plugins()), ElementsAre(lock_file()));
    }
    return error.message;
  }
  std::filesystem::path lock_file() const { return plugins() / ".fetching.lock"; }
  FetchOptions yes() const { return {.assume_yes = true, .folder = plugins()}; }

  const TempDir home_;
  const std::string plugin_ =
      test_zip({{"chip/axle_fetch_test_plugin.so", std::string(100000, 'p')}, {"chip/more", "m"}});
  const std::string tool_ = test_zip({{"chip/bin/tool", "#!", S_IFREG | 0744}});
  bool is_tool_corrupt_ = false, is_tool_cut_ = false;
  const PluginPolicy policy_{.platform = "chip", .files = {"axle_fetch_test_plugin.so"}};
  /// Called for each request before it is answered.
  std::function<void(const TestRequest&)> on_request_ = [](const TestRequest&) {};
  const HttpServer server_{[this](const TestRequest& request) {
    on_request_(request);
    return answer(request);
  }};
  const EnvironmentChange home_variable_{"HOME", home_.path()}, no_proxy_{"no_proxy", "127.0.0.1"};
  EnvironmentChange index_variable_{"AXLE_INDEX_URL", server_.url("/simple")};
};

TEST_F(FetchPlugin, FetchesOnceWhatIsMissing) {
  const PluginPins list = pins();
  std::vector<std::string> lines;
  std::map<std::string, int64_t> last;
  FetchOptions options = yes();
  options.print = [&](const std::string& line) { lines.push_back(line); };
  options.progress = [&](const std::string& name, int64_t bytes, int64_t total) {
    EXPECT_EQ(total, name == "chip-plugin" ? 2000000 : 1000000);
    last[name] = bytes;
  };
  ensure_plugin(policy_, &list, options);
  EXPECT_EQ(find_plugin_file(policy_), plugins() / "chip/axle_fetch_test_plugin.so");
  EXPECT_EQ(read_file(plugins() / "chip/more"), "m");
  EXPECT_EQ(read_file(plugins() / "chip/bin/tool"), "#!");
  EXPECT_EQ(::access((plugins() / "chip/bin/tool").c_str(), X_OK), 0);
  EXPECT_EQ(read_file(plugins() / "chip.txt"), list.list) << "what ./dev plugin leaves there";
  EXPECT_THAT(list_directory(plugins()),
              ElementsAre(lock_file(), plugins() / "chip", plugins() / "chip.txt"));
  EXPECT_EQ(last["chip-plugin"], std::ssize(plugin_));
  EXPECT_THAT(lines, ElementsAre("fetching chip-plugin 1.0 (1.9 MiB) from " +
                                     server_.url("/files/chip-plugin/x.whl"),
                                 "fetching chip-tool 2.0 (976.6 KiB) from " +
                                     server_.url("/files/chip-tool/x.whl")));
  const size_t num_requests = server_.requests().size();
  ensure_plugin(policy_, &list, {});
  EXPECT_EQ(server_.requests().size(), num_requests) << "nothing more to fetch, nothing to ask";
}

TEST_F(FetchPlugin, FetchesOnlyToolsIfThePluginIsInstalled) {
  const auto missing = [&](const PluginParts& installed) {
    std::vector<std::string> names;
    for (const auto& wheel : missing_wheels(pins(), plugins(), installed))
      names.push_back(wheel.name);
    return names;
  };
  EXPECT_THAT(missing({}), ElementsAre("chip-plugin", "chip-tool"));
  EXPECT_THAT(missing({.plugin = true}), ElementsAre("chip-tool"));
  EXPECT_THAT(missing({.plugin = true, .tools = true}), IsEmpty());
}

TEST_F(FetchPlugin, ToolsNextToANamedPluginCount) {
  PluginPolicy policy = policy_;
  policy.needs_cuda_toolkit = true;
  EXPECT_FALSE(installed_plugin_parts(policy).plugin);
  // Packages installed in a folder that is only searched because AXLE_PLUGIN_<NAME> names a plugin
  // in it.
  const auto site = home_.path() / "site-packages";
  const auto file = site / "jax_plugins/xla/plugin.so";
  for (const auto& part : {file, site / "nvidia/cu13/bin/ptxas",
                           site / "nvidia/cu13/nvvm/libdevice/libdevice.10.bc"}) {
    make_directories(part.parent_path());
    replace_file(part, "x");
  }
  const EnvironmentChange named("AXLE_PLUGIN_CHIP", file);
  const EnvironmentChange no_home("CUDA_HOME", {}), no_path("CUDA_PATH", {});
  EXPECT_EQ(find_plugin_file(policy), file);
  EXPECT_TRUE(installed_plugin_parts(policy).tools);
}

TEST_F(FetchPlugin, UnpackedWheelsAreNotFetchedAgain) {
  const PluginPins list = pins();
  ensure_plugin(policy_, &list, yes());
  remove_tree(plugins() / "chip/axle_fetch_test_plugin.so");
  const size_t num_requests = server_.requests().size();
  ensure_plugin(policy_, &list, yes());
  EXPECT_EQ(server_.requests().size(), num_requests + 2) << "the plugin's page and its file";
  EXPECT_TRUE(find_plugin_file(policy_));
  EXPECT_EQ(read_file(plugins() / "chip.txt"), list.list);
}

TEST_F(FetchPlugin, FolderMayBeALinkToAnotherDisk) {
  const std::filesystem::path other =
      "/dev/shm/axle_fetch_test_" + std::to_string(::getpid()) + "/plugins";
  if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no second disk: /dev/shm";
  make_directories(other);
  make_directories(plugins().parent_path());
  std::filesystem::create_directory_symlink(other, plugins());
  const PluginPins list = pins();
  ensure_plugin(policy_, &list, yes());
  EXPECT_EQ(read_file(other / "chip/more"), "m");
  EXPECT_TRUE(find_plugin_file(policy_));
  remove_tree(other.parent_path());
}

TEST_F(FetchPlugin, WaitsForAnotherRunThatFetches) {
  make_directories(plugins());
  const PluginPins list = pins();
  const auto fetch_after = [&](const std::function<void()>& end_of_other) {
    std::optional<FileLock> other(std::in_place, lock_file());
    std::vector<std::string> waits;
    FetchOptions options = yes();
    options.print = [&](const std::string& line) {
      if (!line.starts_with("waiting")) return;
      waits.push_back(line);
      end_of_other();
      other.reset();
    };
    ensure_plugin(policy_, &list, options);
    EXPECT_THAT(waits, ElementsAre("waiting for process " + std::to_string(::getpid()) +
                                   ", which fetches into " + plugins().string()));
  };
  const auto requests_of_files = [&] {
    return std::ranges::count_if(server_.requests(), [](const TestRequest& request) {
      return request.path.starts_with("/files/");
    });
  };
  fetch_after([&] {
    make_directories(plugins() / "chip");
    replace_file(plugins() / "chip/axle_fetch_test_plugin.so", "the other's");
  });
  EXPECT_EQ(requests_of_files(), 0) << "the other has brought it";
  EXPECT_EQ(read_file(plugins() / "chip/axle_fetch_test_plugin.so"), "the other's");
  remove_tree(plugins() / "chip");
  fetch_after([] {});
  EXPECT_EQ(requests_of_files(), 2) << "the other has failed";
  EXPECT_EQ(read_file(plugins() / "chip/more"), "m");
}

TEST_F(FetchPlugin, CtrlCEndsTheWait) {
  make_directories(plugins());
  const FileLock other(lock_file());
  FetchOptions options = yes();
  options.print = [](const std::string& line) {
    if (line.starts_with("waiting")) std::raise(SIGINT);
  };
  EXPECT_EQ(error_of(options, ExitCode::kInterruptedAndSaved),
            "plugin 'chip': stopped while fetching; nothing was installed");
}

TEST_F(FetchPlugin, AsksFirst) {
  EXPECT_EQ(
      error_of({.folder = plugins()}),
      "plugin 'chip': expected chip-plugin 1.0, chip-tool 2.0, 2.9 MiB, got none, and no terminal "
      "to ask on; use --yes to fetch it, or set AXLE_PLUGIN_CHIP to use one of your own");
  std::string asked;
  FetchOptions options{.folder = plugins()};
  options.confirm = [&](const std::string& question) {
    asked = question;
    return false;
  };
  EXPECT_THAT(error_of(options), HasSubstr("got the answer no; set AXLE_PLUGIN_CHIP to"));
  EXPECT_EQ(asked,
            "the chip plugin needs chip-plugin 1.0, chip-tool 2.0, 2.9 MiB; fetch it? [y/N] ");
  EXPECT_THAT(server_.requests(), IsEmpty());
  options.confirm = [](const std::string&) { return true; };
  EXPECT_EQ(error_of(options), "no error");
  EXPECT_TRUE(find_plugin_file(policy_));
}

TEST_F(FetchPlugin, NetworkFailureIsOneLineAndLeavesNoFolder) {
  std::string url;
  {
    url = HttpServer([](const TestRequest&) { return TestResponse{}; }).url("/simple");
  }
  index_variable_.set(url);
  const std::string error = error_of(yes());
  EXPECT_THAT(error, ::testing::StartsWith("plugin 'chip': could not fetch chip-plugin 1.0, "
                                           "chip-tool 2.0, 2.9 MiB: " +
                                           url + "/chip-plugin/: expected an answer, got: "));
  EXPECT_EQ(error.find('\n'), std::string::npos);
  EXPECT_THAT(list_directory(home_.path()), IsEmpty());
}

TEST_F(FetchPlugin, FailedDownloadsInstallNoPlugin) {
  is_tool_corrupt_ = true;
  EXPECT_THAT(error_of(yes()), HasSubstr("expected a file with sha256 " + sha256_hex(tool_)));
  is_tool_corrupt_ = false;
  is_tool_cut_ = true;
  EXPECT_THAT(error_of(yes()), HasSubstr("/files/chip-tool/x.whl: expected an answer, got: "));
  is_tool_cut_ = false;
  // The next try removes the files of a killed process.
  make_directories(plugins() / ".fetching/chip-plugin");
  replace_file(plugins() / ".fetching/chip-plugin/axle_fetch_test_plugin.so", "half of it");
  EXPECT_EQ(find_plugin_file(policy_), std::nullopt);
  EXPECT_EQ(error_of(yes()), "no error");
  EXPECT_FALSE(path_exists(plugins() / ".fetching"));
}

TEST_F(FetchPlugin, ADownloadLargerThanPinnedIsEnded) {
  PluginPins list = pins();
  list.wheels[0].size_bytes = 10;
  EXPECT_THAT(axle::error_of<DeviceError>([&] { ensure_plugin(policy_, &list, yes()); }),
              HasSubstr(server_.url("/files/chip-plugin/x.whl") +
                        ": expected at most 10 bytes, got more; set AXLE_PLUGIN_CHIP"));
  EXPECT_EQ(find_plugin_file(policy_), std::nullopt);
}

TEST_F(FetchPlugin, CtrlCInstallsNoFiles) {
  FetchOptions options = yes();
  options.progress = [](const std::string& name, int64_t, int64_t) {
    static bool is_first = true;
    if (name == "chip-tool" && std::exchange(is_first, false)) std::raise(SIGINT);
  };
  EXPECT_EQ(error_of(options, ExitCode::kInterruptedAndSaved),
            "plugin 'chip': stopped while fetching; nothing was installed");
}

TEST_F(FetchPlugin, CtrlCEndsTheLookUpOfAnIndexThatDoesNotAnswer) {
  std::promise<void> is_over;
  on_request_ = [over = is_over.get_future().share()](const TestRequest&) {
    std::raise(SIGINT);
    over.wait();
  };
  EXPECT_EQ(error_of(yes(), ExitCode::kInterruptedAndSaved),
            "plugin 'chip': stopped while fetching; nothing was installed");
  is_over.set_value();
  EXPECT_THAT(server_.requests(), ::testing::SizeIs(1));
}

TEST_F(FetchPlugin, AWheelWithoutItsFile) {
  PluginPins list = pins();
  list.wheels[1].file = "chip/bin/other";
  EXPECT_THAT(axle::error_of<DeviceError>([&] { ensure_plugin(policy_, &list, yes()); }),
              HasSubstr("expected a wheel with chip/bin/other"));
  EXPECT_THAT(list_directory(plugins()), ElementsAre(lock_file()));
}

TEST_F(FetchPlugin, DefaultFolder) {
  const auto old = std::filesystem::current_path();
  const TempDir elsewhere;
  std::filesystem::current_path(elsewhere.path());
  const std::filesystem::path here = std::filesystem::current_path();
  make_directories(here / "tools/plugins");
  EXPECT_EQ(default_plugin_folder(), here / ".axle/plugins") << "a source tree";
  remove_tree(here / "tools");
  EXPECT_NE(default_plugin_folder(), here / ".axle/plugins");
  make_directories(here / ".axle/plugins");
  EXPECT_EQ(default_plugin_folder(), here / ".axle/plugins") << "it is there";
  std::filesystem::current_path(old);
}

TEST_F(FetchPlugin, PlatformsWithoutAList) {
  EXPECT_EQ(axle::error_of<DeviceError>([&] { ensure_plugin("no-such-chip", yes()); }),
            "plugin 'no-such-chip': expected one on this machine, got none, and Axle "
            "cannot fetch it; set AXLE_PLUGIN_NO_SUCH_CHIP to the plugin's file");
}

TEST_F(FetchPlugin, PromptNeedsATerminal) {
  if (::isatty(STDIN_FILENO) && ::isatty(STDERR_FILENO)) GTEST_SKIP() << "there is a terminal";
  EXPECT_FALSE(terminal_fetch_options(false).confirm);
}

}  // namespace
}  // namespace axle
