#include "train/host_memory_check.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using testing::HasSubstr;

constexpr int64_t kGiB = int64_t{1} << 30;

std::vector<ProgramValue> state_of(int64_t num_parameters) {
  return {{"learner/m/w", {DType::kF32, {2, num_parameters}}},
          {"model/w", {DType::kF32, {num_parameters}}},
          {"prng_key", {DType::kU32, {2}}}};
}

int64_t total(const std::vector<HostNeed>& needs) {
  int64_t out = 0;
  for (const HostNeed& need : needs) out += need.bytes;
  return out;
}

TEST(HostMemoryCheck, AStateIsThereTwiceWhereDevicesAreTheHosts) {
  const auto state = state_of(100);
  EXPECT_EQ(total(state_needs(state, "cpu")), 2 * (3 * 400 + 8));
  EXPECT_EQ(total(state_needs(state, "interpreter")), 2 * (3 * 400 + 8));
  EXPECT_EQ(total(state_needs(state, "cuda")), 3 * 400 + 8);
}

TEST(HostMemoryCheck, WhatDoesNotFitIsToldInFigures) {
  const std::vector<HostNeed> needs = {{"parameters", 3 * kGiB}, {"temporaries", kGiB / 2}};
  const HostMemory memory{.total_bytes = 4 * kGiB, .available_bytes = 3 * kGiB};
  try {
    check_host_memory(needs, memory);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kDoesNotFit);
    EXPECT_THAT(error.what(),
                HasSubstr("expected 3.5 GiB for this run (parameters 3.0 GiB, temporaries 512.0 "
                          "MiB), got 3.0 GiB available of 4.0 GiB"));
  }
}

TEST(HostMemoryCheck, WhatFitsAndWhatIsNotKnownPasses) {
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
              HasSubstr("memory of the host: expected "));
}

}  // namespace
}  // namespace axle
