// The program `axle` itself has the guard.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "io/file.h"
#include "testing/checkout.h"
#include "testing/needs_plugin.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

TEST(ProgramAxle, ReportsAPluginExitInOneLine) {
  AXLE_NEEDS_PLUGIN("cpu");
  const TempDir dir;
  const std::string errors = dir / "errors";
  const std::string command = "XLA_FLAGS=--foo=1 '" + built_program().string() +
                              "' compile quickstart --data synthetic --on cpu:1 > " +
                              (dir / "out") + " 2> " + errors;
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(ExitCode::kUser));
  EXPECT_EQ(read_file(errors),
            "axle: client of plugin 'cpu': expected it to start, got the end of the process: "
            "Unknown flag in XLA_FLAGS: --foo=1; check the variables XLA_FLAGS and "
            "LIBTPU_INIT_ARGS\n");
}

}  // namespace
}  // namespace axle
