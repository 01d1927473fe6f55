#include <fmt/format.h>
#include <gmock/gmock.h>

#include "pjrt/compile/compile_options.h"
#include "testing/proto_fields.h"

namespace axle {
namespace {

namespace fields = build_option_fields;
using ::testing::ElementsAre;
using testing::fields_of;

int64_t number(std::string_view message, int field) {
  return fields_of(message, field).at(0).varint();
}
std::string text(std::string_view message, int field) {
  return std::string(fields_of(message, field).at(0).bytes());
}

std::vector<int> numbers_of(std::string_view message) {
  std::vector<int> out;
  ProtoReader reader(message);
  while (const auto field = reader.next()) out.push_back(field->number);
  return out;
}

// Returns the message that holds all options but the overrides.
std::string build_of(const BuildOptions& options) {
  return text(encode_build_options(options), fields::kBuildOptions);
}

std::vector<int64_t> device_ids(std::string_view assignment) {
  std::vector<int64_t> out;
  for (const ProtoField& device : fields_of(assignment, fields::kComputationDevices))
    fields_of(device.bytes(), fields::kReplicaDeviceIds).at(0).append_to(out);
  return out;
}

// The parts of these bytes were decoded with protoc and XLA's .proto files.
TEST(BuildOptions, BytesMatchGolden) {
  std::string hex;
  for (const unsigned char byte : encode_build_options({.num_partitions = 2,
                                  .device_ids = {0, 300},
                                  .device_memory_bytes = 300,
                                  .overrides = {{"b", "16"}, {"a", "false"}}}))
    hex += fmt::format("{:02x}", byte);
  EXPECT_EQ(hex,
            "1a28"
            "08ffffffffffffffffff01"
            "2001"
            "2802"
            "3001"
            "4a0f"
            "08011002"
            "1a030a0100"
            "1a040a02ac02"
            "78ac02"
            "980101"
            "3a070a0161"
            "12021000"
            "3a090a0162"
            "12040a023136");
}

TEST(BuildOptions, OneDeviceHasOneReplicaAndOnePartition) {
  const std::string build = build_of({});
  EXPECT_THAT(numbers_of(build), ElementsAre(fields::kNumReplicas, fields::kNumPartitions));
  EXPECT_EQ(number(build, fields::kNumReplicas), 1);
  EXPECT_EQ(number(build, fields::kNumPartitions), 1);
}

TEST(BuildOptions, EightDevicesBySpmdAndShardy) {
  const std::string build = build_of({.num_partitions = 8, .device_ids = {0, 1, 2, 3, 4, 5, 6, 7}});
  EXPECT_EQ(number(build, fields::kDeviceOrdinal), -1);
  EXPECT_EQ(number(build, fields::kNumReplicas), 1);
  EXPECT_EQ(number(build, fields::kNumPartitions), 8);
  EXPECT_EQ(number(build, fields::kUseSpmd), 1);
  EXPECT_EQ(number(build, fields::kUseShardy), 1);
  const std::string assignment = text(build, fields::kDeviceAssignment);
  EXPECT_EQ(number(assignment, fields::kReplicaCount), 1);
  EXPECT_EQ(number(assignment, fields::kComputationCount), 8);
  EXPECT_THAT(device_ids(assignment), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(BuildOptions, LargeDeviceIdsTakeMoreBytes) {
  const std::string build = build_of({.device_ids = {300}});
  EXPECT_EQ(number(build, fields::kDeviceOrdinal), -1);
  EXPECT_THAT(device_ids(text(build, fields::kDeviceAssignment)), ElementsAre(300));
}

TEST(BuildOptions, EncodeTheMemoryToPlanWith) {
  const std::string build = build_of({.device_memory_bytes = 300});
  EXPECT_THAT(numbers_of(build),
              ElementsAre(fields::kNumReplicas, fields::kNumPartitions, fields::kDeviceMemorySize));
  EXPECT_EQ(number(build, fields::kDeviceMemorySize), 300);
}

TEST(BuildOptions, OverridesAreTypedAndSorted) {
  const std::string name = "xla_gpu_enable_latency_hiding_scheduler";
  const std::string bytes =
      encode_build_options({.overrides = {{name, "true"}, {"b", "16"}, {"a", "false"}}});
  const std::vector<ProtoField> overrides = fields_of(bytes, fields::kOverrides);
  std::vector<std::string> names;
  for (const ProtoField& one : overrides) names.push_back(text(one.bytes(), fields::kKey));
  ASSERT_THAT(names, ElementsAre("a", "b", name));
  const auto value = [&](size_t i) { return text(overrides[i].bytes(), fields::kValue); };
  EXPECT_EQ(number(value(0), fields::kBool), 0);
  EXPECT_EQ(text(value(1), fields::kString), "16");
  EXPECT_EQ(number(value(2), fields::kBool), 1);
}

TEST(BuildOptions, LastOfEqualNamesCounts) {
  EXPECT_EQ(encode_build_options({.overrides = {{"a", "1"}, {"a", "2"}}}),
            encode_build_options({.overrides = {{"a", "2"}}}));
}

}  // namespace
}  // namespace axle
