#include "pjrt/plugin/plugin_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/process_start.h"
#include "pjrt/pjrt_runtime.h"
#include "pjrt/plugin/find_plugin.h"
#include "pjrt/plugin/plugin.h"
#include "pjrt/plugin/plugin_pins.h"
#include "targets/accelerators.h"
#include "testing/environment_change.h"
#include "testing/error_of.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

TEST(PluginPolicy, PoliciesStateHowToInstallThePlugin) {
  for (const auto& row : plugin_policies()) {
    EXPECT_FALSE(row.files.empty()) << row.platform;
    EXPECT_FALSE(row.install_hint.empty()) << row.platform;
    if (plugin_pins(row.platform)) {
      EXPECT_EQ(row.install_hint, "run `axle plugin fetch " + row.platform + "`");
    }
  }
}

TEST(PluginPolicy, EveryAcceleratorHasThePluginOfItsPlatform) {
  for (const Accelerator& row : accelerators())
    EXPECT_FALSE(plugin_policy(row.platform).files.empty()) << row.name;
}

// The memory that programs do not get must suffice for the driver and the buffers of collectives.
TEST(PluginPolicy, ProgramsLeaveAReserveOnEveryAccelerator) {
  constexpr int64_t kReserve = int64_t{4} << 30;
  for (const Accelerator& row : accelerators()) {
    const PluginPolicy policy = plugin_policy(row.platform);
    const int64_t bytes = bytes_for_programs(policy, row.memory_bytes);
    EXPECT_LE(bytes, row.memory_bytes) << row.name;
    EXPECT_GE(bytes, row.memory_bytes / 10 * 9) << row.name;
    if (policy.memory.fraction > 0) {
      EXPECT_GE(row.memory_bytes - bytes, kReserve) << row.name;
    }
  }
  EXPECT_EQ(bytes_for_programs(plugin_policy("tpu"), 1000), 1000);
  PluginPolicy half;
  half.memory.fraction = 0.5f;
  EXPECT_EQ(bytes_for_programs(half, 1000), 500);
}

TEST(PluginPolicy, UnknownPlatformsHaveAVariable) {
  EXPECT_EQ(plugin_variable("my-chip"), "AXLE_PLUGIN_MY_CHIP");
  EXPECT_EQ(plugin_policy("my-chip").install_hint, "set AXLE_PLUGIN_MY_CHIP to the plugin's file");
}

TEST(PluginPolicy, DevicesAreDetectedByTheirFiles) {
  EXPECT_TRUE(has_device(plugin_policy("cpu")));
  EXPECT_TRUE(has_device({.device_files = {"/nowhere", "/dev/null"}}));
  EXPECT_FALSE(has_device({.device_files = {"/nowhere"}}));
}

TEST(PluginPolicy, UntestedPlatformsAreMarked) {
  for (const char* platform : {"neuron", "rocm"})
    EXPECT_NE(plugin_policy(platform).limits.find("not tested"), std::string::npos);
}

TEST(FindCudaToolkit, TakesTheNamedToolkitIfItIsComplete) {
  namespace fs = std::filesystem;
  const TempDir dir;
  const fs::path folder = dir.path();
  EnvironmentChange flags("XLA_FLAGS", "--a=1 --xla_gpu_cuda_data_dir=" + folder.string() + " --b");
  fs::create_directories(folder / "bin");
  fs::create_directories(folder / "nvvm/libdevice");
  std::ofstream(folder / "bin/ptxas") << "x";
  EXPECT_NE(find_cuda_toolkit(), folder) << "libdevice is missing";
  std::ofstream(folder / "nvvm/libdevice/libdevice.10.bc") << "x";
  EXPECT_EQ(find_cuda_toolkit(), folder);
  // Packages are installed with the plugin in a folder beside nvidia/.
  flags.set("--c=2");
  EnvironmentChange named("AXLE_PLUGIN_CUDA", folder / "site/jax_plugins/xla/plugin.so");
  fs::create_directories(folder / "site/nvidia/cu12");
  fs::create_directories(folder / "site/nvidia/cu13");
  fs::copy(folder / "bin", folder / "site/nvidia/cu13/bin");
  fs::copy(folder / "nvvm", folder / "site/nvidia/cu13/nvvm", fs::copy_options::recursive);
  const fs::path beside = folder / "site/nvidia/cu13";
  EXPECT_EQ(find_cuda_toolkit(), beside);
  named.set({});
  EXPECT_EQ(find_cuda_toolkit(folder / "site/jax_plugins/xla"), beside);
  // The flags tell a plugin that needs the toolkit where it is.
  apply_environment({.needs_cuda_toolkit = true}, folder / "site/jax_plugins/xla");
  EXPECT_EQ(environment_variable("XLA_FLAGS"), "--c=2 --xla_gpu_cuda_data_dir=" + beside.string());
}

TEST(MergeFlags, UserFlagsWin) {
  EXPECT_EQ(merge_flags("", "--a=1 --b=2"), "--a=1 --b=2");
  EXPECT_EQ(merge_flags("--b=7", "--a=1 --b=2"), "--b=7 --a=1");
  EXPECT_EQ(merge_flags("--bigger=7", "--b=2"), "--bigger=7 --b=2");
  EXPECT_EQ(merge_flags("--c\n--b", "--b=2"), "--c\n--b");
}

TEST(ApplyEnvironment, FlagsMayComeFromAFile) {
  const TempDir dir;
  const std::filesystem::path file = dir.path() / "flags";
  std::ofstream(file) << "--b=7\n--c=8";
  const PluginPolicy policy{
      .environment = {{.name = "AXLE_TEST_FLAGS", .value = "--a=1 --b=2", .is_flag_list = true}}};
  EnvironmentChange flags("AXLE_TEST_FLAGS", file.string());
  apply_environment(policy, {});
  EXPECT_EQ(environment_variable("AXLE_TEST_FLAGS"), "--b=7\n--c=8 --a=1");
  std::filesystem::create_symlink("loop", dir / "loop");
  for (const std::string& none : {std::string("foo"), std::string(5000, 'x'), dir / "loop"}) {
    flags.set(none);
    EXPECT_NE(error_of<ConfigError>([&] {
                apply_environment(policy, {});
              }).find("AXLE_TEST_FLAGS: expected flags that begin with --, or a file"),
              std::string::npos);
  }
}

TEST(ApplyEnvironment, SetsOnlyUnsetVariables) {
  const EnvironmentChange set("AXLE_TEST_SET", "mine"), flags("AXLE_TEST_FLAGS", "--x=1"),
      unset("AXLE_TEST_UNSET", std::nullopt), device("AXLE_TEST_DEVICE", std::nullopt);
  apply_environment(
      {.environment = {{.name = "AXLE_TEST_SET", .value = "ours"},
                       {.name = "AXLE_TEST_UNSET", .value = "ours"},
                       {.name = "AXLE_TEST_FLAGS", .value = "--x=2 --y=3", .is_flag_list = true},
                       {.name = "AXLE_TEST_DEVICE",
                        .value = "1",
                        .unless_file = {std::string(300, 'x'), "/dev/null"}}}},
      "/");
  EXPECT_STREQ(std::getenv("AXLE_TEST_SET"), "mine");
  EXPECT_STREQ(std::getenv("AXLE_TEST_UNSET"), "ours");
  EXPECT_STREQ(std::getenv("AXLE_TEST_FLAGS"), "--x=1 --y=3");
  EXPECT_EQ(std::getenv("AXLE_TEST_DEVICE"), nullptr);
}

TEST(FindPlugin, TheVariableMustNameAFile) {
  // A missing file, a folder, a name longer than any file's, a file used as a folder.
  for (const std::string& named : {std::string("/nowhere/plugin.so"), std::string("/proc"),
                                   "/" + std::string(300, 'x'), std::string("/dev/null/x")}) {
    const EnvironmentChange variable("AXLE_PLUGIN_FAKE_A", named);
    EXPECT_EQ(error_of<DeviceError>([] { find_plugin_file(plugin_policy("fake_a")); }),
              "AXLE_PLUGIN_FAKE_A: expected the file of a PJRT plugin, got '" + named +
                  "'; set AXLE_PLUGIN_FAKE_A to the plugin's file");
  }
  const EnvironmentChange variable("AXLE_PLUGIN_FAKE_A", "");
  EXPECT_EQ(find_plugin_file(plugin_policy("fake_a")), std::nullopt) << "empty is not set";
}

// The advice depends on which plugin is found where this program runs, in a checkout or not.
TEST(FindPlugin, WrongVariableIsReportedWithAdvice) {
  const TempDir dir;
  const EnvironmentChange variable("AXLE_PLUGIN_CPU", "/nowhere/plugin.so"),
      home("HOME", dir.path().string());
  PluginPolicy policy = plugin_policy("cpu");
  policy.files = {"no_such_plugin_anywhere.so"};
  const auto error = [&] { return error_of<DeviceError>([&] { find_plugin_file(policy); }); };
  EXPECT_EQ(error(),
            "AXLE_PLUGIN_CPU: expected the file of a PJRT plugin, got '/nowhere/plugin.so'; unset "
            "it and run `axle plugin fetch cpu`");
  const std::filesystem::path folder = dir.path() / ".axle" / "plugins";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / policy.files[0]) << "x";
  EXPECT_TRUE(error().ends_with("; unset it to use " + (folder / policy.files[0]).string()))
      << error();
}

TEST(FindPlugin, TheVariableMayBeRelativeToTheCurrentFolder) {
  const TempDir dir;
  std::ofstream(dir / "plugin.so") << "x";
  const auto relative = std::filesystem::relative(dir / "plugin.so");
  const EnvironmentChange variable("AXLE_PLUGIN_FAKE_A", "./" + relative.string());
  EXPECT_EQ(find_plugin_file(plugin_policy("fake_a")), std::filesystem::path(dir / "plugin.so"));
}

TEST(FindPlugin, LooksIntoUnpackedWheels) {
  namespace fs = std::filesystem;
  const TempDir dir;
  const fs::path home = dir.path();
  const fs::path file = home / ".axle/plugins/wheel/inner/axle_test_only_plugin.so";
  const PluginPolicy policy{.platform = "fake_c", .files = {"absent.so", file.filename()}};
  const EnvironmentChange variable("HOME", home);
  EXPECT_EQ(find_plugin_file(policy), std::nullopt);
  fs::create_directories(home / ".axle/plugins/folder" / file.filename());
  fs::create_directories(home / ".axle/plugins/.fetching");
  std::ofstream(home / ".axle/plugins/.fetching" / file.filename()) << "x";
  EXPECT_EQ(find_plugin_file(policy), std::nullopt) << "a folder, and what is being fetched";
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "x";
  EXPECT_EQ(find_plugin_file(policy), file);
}

TEST(LoadPlugin, MissingPluginIsReportedWithAdvice) {
  EXPECT_EQ(
      error_of<DeviceError>([] { load_plugin("no-such-chip"); }),
      "plugin 'no-such-chip': expected a file in .axle/plugins or in AXLE_PLUGIN_NO_SUCH_CHIP, "
      "got nothing; set AXLE_PLUGIN_NO_SUCH_CHIP to the plugin's file");
}

TEST(LoadPlugin, NamesWhatIsNotAPlugin) {
  EXPECT_THAT(error_of<DeviceError>([] { load_plugin("fake_b", "/proc/self/exe"); }),
              ::testing::AllOf(HasSubstr("plugin 'fake_b'"), HasSubstr("can't be loaded: ")));
}

TEST(LoadPlugin, PluginFileSelectsTheSettings) {
  std::vector<std::unique_ptr<EnvironmentChange>> unset;
  for (const auto& entry : plugin_policy("tpu").environment)
    unset.push_back(std::make_unique<EnvironmentChange>(entry.name, std::nullopt));
  const TempDir dir;  // has no such file; the environment is set before the file is opened
  EXPECT_THROW(load_plugin("fake_b", dir / "other.so"), DeviceError);
  EXPECT_EQ(environment_variable("TPU_LOG_DIR"), "");
  EXPECT_THROW(load_plugin("fake_b", dir / "libtpu.so"), DeviceError);
  EXPECT_EQ(environment_variable("TPU_LOG_DIR"), "disabled");
}

TEST(MakeRuntime, SuggestsTheBackendThatWasMeant) {
  EXPECT_THAT(error_of([] { make_runtime({.backend = "interpretor"}); }),
              HasSubstr("got 'interpretor'; did you mean 'interpreter'?"));
  EXPECT_THROW(make_runtime({.backend = "cpu", .num_devices = 0}), ConfigError);
}

}  // namespace
}  // namespace axle
