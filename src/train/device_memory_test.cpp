#include "train/device_memory.h"

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

TEST(DeviceMemory, IsToldOrRefusedBeforeAnythingIsThere) {
  const Measured step(MemoryStats{.argument_bytes = 2 * kGiB, .temporary_bytes = kGiB / 2});
  EXPECT_EQ(device_memory_text(step, with(4 * kGiB)),
            "the step needs 2.5 of the 4.0 GiB of a device that programs get");
  try {
    device_memory_text(step, with(2 * kGiB));
    FAIL() << "expected DeviceError";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ExitCode::kDoesNotFit);
    EXPECT_THAT(error.what(), testing::HasSubstr("2.0 GiB"));
    EXPECT_THAT(error.what(), testing::HasSubstr("needs 2.5 GiB"));
  }
}

TEST(DeviceMemory, WhatThePluginDoesNotTellIsNotSaid) {
  EXPECT_EQ(device_memory_text(Measured(std::nullopt), with(kGiB)), "");
  EXPECT_EQ(device_memory_text(Measured(MemoryStats{}), with(std::nullopt)), "");
}

}  // namespace
}  // namespace axle
