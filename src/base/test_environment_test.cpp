// The environment of tests, as cmake/axle_floor.cmake sets it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/process_start.h"

namespace axle {
namespace {

bool is_run_by_ctest() {
  std::string parent;
  std::getline(std::ifstream("/proc/" + std::to_string(::getppid()) + "/comm"), parent);
  return parent == "ctest";
}

TEST(TestEnvironment, ReachesTheTests) {
  if (!is_run_by_ctest()) GTEST_SKIP() << "started by hand: ctest sets it";
  EXPECT_EQ(environment_variable("AXLE_VERIFY"), "1");
  EXPECT_EQ(environment_variable("AXLE_COMPILE_CACHE"), "none");
  EXPECT_NE(environment_variable("XDG_CACHE_HOME"), "");
}

}  // namespace
}  // namespace axle
