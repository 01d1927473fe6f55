#include <gmock/gmock.h>

#include <vector>

#include "base/error.h"
#include "base/host_memory.h"
#include "testing/error_of.h"
#include "testing/resource_limits.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(HostMemoryCheck, ReportsSizesWhenMemoryDoesNotSuffice) {
  const std::vector<HostNeed> needs = {{"parameters", 3 * kGiB}, {"temporaries", kGiB / 2}};
  const HostMemory memory{.total_bytes = 4 * kGiB, .available_bytes = 3 * kGiB};
  const Thrown error = thrown_by([&] { check_host_memory(needs, memory); });
  EXPECT_EQ(error.code, ExitCode::kDoesNotFit);
  EXPECT_THAT(error.message,
              HasSubstr("expected 3.5 GiB for this run (parameters 3.0 GiB, temporaries 512.0 "
                        "MiB), got 3.0 GiB available of 4.0 GiB"));
}

TEST(HostMemoryCheck, PassesIfMemorySufficesOrIsUnknown) {
  const std::vector<HostNeed> needs = {{"parameters", 3 * kGiB}};
  EXPECT_EQ(error_of<Error>([&] {
              check_host_memory(needs, {.total_bytes = 4 * kGiB, .available_bytes = 3 * kGiB});
              check_host_memory(needs, {});
            }),
            "no error");
}

TEST(HostMemoryCheck, SizesBeyondAnyNumberDoNotWrap) {
  const std::vector<HostNeed> needs(3, {"parameters", std::numeric_limits<int64_t>::max() / 2});
  EXPECT_THAT(error_of<Error>([&] {
                check_host_memory(needs, {kGiB, kGiB});
              }),
              HasSubstr("host memory: expected "));
}

TEST(HostMemoryCheck, NamesTheFileOfASingleAllocation) {
  const LittleMemory little(64 << 20);
  const Thrown error = thrown_by([] { check_host_allocation("a.txt", "its text", 128 << 20); });
  EXPECT_EQ(error.code, ExitCode::kDoesNotFit);
  EXPECT_THAT(error.message,
              ::testing::MatchesRegex("a.txt: expected 128.0 MiB of host memory for its text, "
                                      "got .* MiB available of .*; use less, or .*"));
  EXPECT_EQ(error_of<Error>([] {
              check_host_allocation("a.txt", "its text", 32 << 20);
              check_host_allocation("a.txt", "its text", 0);
            }),
            "no error");
}

}  // namespace
}  // namespace axle
