// Ten thousand random programs keep the laws. AXLE_FUZZ_FIRST names another first seed.
#include <gtest/gtest.h>

#include <cstdlib>

#include "testing/fuzz/fuzz_run.h"

namespace axle {
namespace {

using namespace testing::fuzz;

class ProgramFuzzLong : public ::testing::TestWithParam<uint64_t> {};

constexpr uint64_t kSeedsEach = 1000;

TEST_P(ProgramFuzzLong, RandomProgramsKeepTheLaws) {
  const char* const text = std::getenv("AXLE_FUZZ_FIRST");
  const uint64_t first = text ? std::strtoull(text, nullptr, 10) : 1000;
  const FuzzRun run = fuzz(first + GetParam() * kSeedsEach, kSeedsEach);
  EXPECT_EQ(run.report, "");
  EXPECT_LT(run.num_wild, kSeedsEach / 20);
  EXPECT_EQ(run.skipped_too_often(kSeedsEach), "");
}

INSTANTIATE_TEST_SUITE_P(Thousand, ProgramFuzzLong, ::testing::Range<uint64_t>(0, 10));

}  // namespace
}  // namespace axle
