#include "train/run_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/error_of.h"

namespace axle {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

struct Measured final : CompiledProgram {
  explicit Measured(std::optional<MemoryStats> m) : stats(m) {}
  std::string serialize() const override { return {}; }
  std::optional<MemoryStats> memory() const override { return stats; }
  std::string optimized_program() const override { return {}; }
  std::optional<MemoryStats> stats;
};

Topology with(std::optional<int64_t> bytes) {
  return {.platform = "cuda", .devices = {{.kind = "NVIDIA H200", .memory_bytes = bytes}}};
}

std::string refusal(std::vector<NamedProgram> programs, int64_t bytes) {
  const Thrown error = thrown_by<DeviceError>([&] { check_device_memory(programs, with(bytes)); });
  EXPECT_THAT(error.code, ::testing::AnyOf(ExitCode::kOk, ExitCode::kDoesNotFit));
  return error.message;
}

TEST(DeviceMemory, MemoryIsReportedOrRefusedBeforeAnythingIsAllocated) {
  const Measured step(MemoryStats{.argument_bytes = 2 * kGiB, .temporary_bytes = kGiB / 2});
  EXPECT_EQ(device_memory_text({"the step", &step}, with(4 * kGiB)),
            "the step needs 2.5 GiB of the 4.0 GiB that programs may use on a device");
  EXPECT_EQ(refusal({{"the step", &step}}, 4 * kGiB), "no error");
  EXPECT_THAT(
      refusal({{"the step", &step}}, 2 * kGiB),
      ::testing::AllOf(::testing::StartsWith("the step: expected a program within the 2.0 GiB"),
                       ::testing::HasSubstr("needs 2.5 GiB")));
}

// The learner's state stays on the device while an evaluation runs, although the evaluation does
// not read it.
TEST(DeviceMemory, AnEvaluationFitsBesideTheState) {
  const Measured step(MemoryStats{.argument_bytes = 3 * kGiB, .temporary_bytes = kGiB / 2});
  const Measured evaluation(MemoryStats{.argument_bytes = kGiB, .temporary_bytes = 2 * kGiB});
  const std::vector<NamedProgram> programs = {{"the step", &step},
                                              {"evalers.held_out", &evaluation}};
  EXPECT_EQ(refusal(programs, 5 * kGiB), "no error");
  EXPECT_THAT(
      refusal(programs, 5 * kGiB - 1),
      ::testing::AllOf(::testing::StartsWith("evalers.held_out: expected a program within the "),
                       ::testing::HasSubstr("needs 5.0 GiB")));
}

TEST(DeviceMemory, FiguresThatThePluginLacksAreLeftOut) {
  const Measured unknown(std::nullopt), known(MemoryStats{.argument_bytes = kGiB});
  EXPECT_EQ(device_memory_text({"the step", &unknown}, with(kGiB)), "");
  EXPECT_EQ(device_memory_text({"the step", &known}, with(std::nullopt)), "");
  EXPECT_EQ(refusal({{"the step", &unknown}}, 0), "no error");
  EXPECT_NO_THROW(
      check_device_memory(std::vector<NamedProgram>{{"the step", &known}}, with(std::nullopt)));
}

}  // namespace
}  // namespace axle
