#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <system_error>

#include "ir/devices/simulated_devices.h"
#include "testing/resource_limits.h"

namespace axle {
namespace {

// There is room for the stacks of the first few threads.
TEST(SimulatedDevices, FailureToStartAThreadFailsAllDevices) {
  const auto run = [] {
    const LittleMemory few_stacks(40 << 20);
    try {
      run_devices({{"data", 64}}, [](int64_t) {});
    } catch (const std::system_error& error) {
      std::fprintf(stderr, "refused");
    }
    ::_exit(0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "^refused$");
}

}  // namespace
}  // namespace axle
