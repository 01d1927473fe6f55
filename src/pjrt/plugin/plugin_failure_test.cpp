// The exit codes of errors that a plugin returns.
#include <gtest/gtest.h>

#include "base/error.h"
#include "pjrt/plugin/plugin.h"
#include "testing/error_of.h"

namespace axle {
namespace {

ExitCode code_of(pjrt::ErrorCode code, const char* message) {
  return thrown_by<DeviceError>([&] {
           throw_failure("program 'step'", {code, message}, ExitCode::kDoesNotCompile);
         })
      .code;
}

TEST(PluginFailure, OnlyMissingDeviceMemoryCountsAsNotFitting) {
  for (const char* message :
       {"Ran out of memory in memory space hbm. Used 18.32G of 15.75G hbm.\nvmem: 3M",
        "E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO "
        "temporaries (200.97G) exceeds available HBM (95.73G).",
        "Out of memory while trying to allocate 1073741824 bytes.",
        "Out of memory allocating 274877906944 bytes.", ""})
    EXPECT_EQ(code_of(pjrt::ErrorCode::kResourceExhausted, message), ExitCode::kDoesNotFit)
        << message;
  for (const char* message :
       {"Ran out of memory in memory space vmem. Used 20.00M of 16.00M vmem.",
        "Ran out of memory in memory space smem.",
        "Shared memory size limit exceeded: requested 300000, available: 232448",
        "Received message larger than max (5000000 vs. 4194304)", "Too many open files"})
    EXPECT_EQ(code_of(pjrt::ErrorCode::kResourceExhausted, message), ExitCode::kDoesNotCompile)
        << message;
  EXPECT_EQ(code_of(pjrt::ErrorCode::kInternal, "Out of memory allocating 1 bytes."),
            ExitCode::kDoesNotCompile);
}

}  // namespace
}  // namespace axle
