// XLA ends the process if XLA_FLAGS are wrong. It reads them from a file if they name one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "guard/plugin_end_guard.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/needs_plugin.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

class PluginFlags : public ::testing::Test {
 protected:
  void SetUp() override {
    AXLE_NEEDS_PLUGIN("cpu");
    install_plugin_end_guard();
    // Each death test needs a fresh process, because XLA reads its flags once.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

// Exits with 0 if the plugin starts.
[[noreturn]] void start_with(const std::string& flags) {
  ::setenv("XLA_FLAGS", flags.c_str(), 1);
  std::_Exit(make_runtime({})->topology().devices.size() == 1 ? 0 : 1);
}

TEST_F(PluginFlags, WrongFlagsAreNamedInOneLine) {
  const auto user = ::testing::ExitedWithCode(static_cast<int>(ExitCode::kUser));
  EXPECT_EXIT(start_with("--foo=1"), user,
              "^axle: client of plugin 'cpu': [^\n]*Unknown flag in XLA_FLAGS: --foo=1;[^\n]*\n$");
  EXPECT_EXIT(start_with("--xla_cpu_enable_fast_math=maybe"), user,
              "^axle: [^\n]*Couldn't interpret value maybe for flag xla_cpu_enable[^\n]*\n$");
}

TEST_F(PluginFlags, ValidFlagsMayComeFromAFile) {
  const TempDir dir;
  const auto file = dir.path() / "flags.txt";
  std::ofstream(file) << "--xla_cpu_enable_fast_math=false\n";
  EXPECT_EXIT(start_with(file.string()), ::testing::ExitedWithCode(0), "^$");
  EXPECT_EXIT(start_with("--xla_cpu_enable_fast_math=false"), ::testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace axle
