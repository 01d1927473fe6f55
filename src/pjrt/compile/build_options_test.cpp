#include "pjrt/compile/build_options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace axle {
namespace {

std::string hex(const std::string& bytes) {
  std::string out;
  for (unsigned char c : bytes) out += fmt::format("{:02x}", c);
  return out;
}

// The bytes below were decoded with protoc and XLA's .proto files.
TEST(CompileOptions, OneDevice) { EXPECT_EQ(hex(encode_build_options({})), "1a0420012801"); }

TEST(CompileOptions, EightDevicesBySpmdAndShardy) {
  std::string devices;
  for (int i = 0; i < 8; ++i) devices += fmt::format("1a030a01{:02x}", i);
  EXPECT_EQ(
      hex(encode_build_options({.num_partitions = 8, .device_ids = {0, 1, 2, 3, 4, 5, 6, 7}})),
      "1a42"
      "08ffffffffffffffffff01"
      "2001"
      "2808"
      "3001"
      "4a2c08011008" +
          devices + "980101");
}

TEST(CompileOptions, LargeDeviceIdsTakeMoreBytes) {
  EXPECT_EQ(hex(encode_build_options({.device_ids = {300}})),
            "1a1b"
            "08ffffffffffffffffff01"
            "2001"
            "2801"
            "4a0a"
            "08011001"
            "1a040a02ac02");
}

TEST(CompileOptions, TellTheMemoryToPlanWith) {
  EXPECT_EQ(hex(encode_build_options({.device_memory_bytes = 300})), "1a072001280178ac02");
}

TEST(CompileOptions, OverridesAreTypedAndSorted) {
  const std::string name = "xla_gpu_enable_latency_hiding_scheduler";
  std::string name_hex = hex(name);
  EXPECT_EQ(hex(encode_build_options({.overrides = {{name, "true"}}})),
            "1a0420012801"
            "3a2d0a27" +
                name_hex + "12021001");
  EXPECT_EQ(hex(encode_build_options({.overrides = {{"b", "16"}, {"a", "false"}}})),
            "1a0420012801"
            "3a070a0161"
            "12021000"
            "3a090a0162"
            "12040a023136");
}

TEST(CompileOptions, OfEqualNamesTheLastCounts) {
  EXPECT_EQ(encode_build_options({.overrides = {{"a", "1"}, {"a", "2"}}}),
            encode_build_options({.overrides = {{"a", "2"}}}));
}

}  // namespace
}  // namespace axle
