#include "pjrt/compile/build_options.h"

#include <map>

namespace axle {
namespace {

// Field numbers from xla/pjrt/proto/compile_options.proto and xla/xla_data.proto. The encoder
// writes fields in ascending order.
namespace compile_options {
constexpr int kBuildOptions = 3, kOverrides = 7;
}
namespace build_options {
// debug_options (3) is never sent: that message would replace all defaults, even for the fields
// that it leaves out.
constexpr int kDeviceOrdinal = 1, kNumReplicas = 4, kNumPartitions = 5, kUseSpmd = 6,
              kDeviceAssignment = 9, kDeviceMemorySize = 15, kUseShardy = 19;
}  // namespace build_options
namespace device_assignment {
constexpr int kReplicaCount = 1, kComputationCount = 2, kComputationDevices = 3,
              kReplicaDeviceIds = 1;
}
namespace override {
constexpr int kKey = 1, kValue = 2, kString = 1, kBool = 2;
}

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out += static_cast<char>(value);
}

std::string number(int field, int64_t value) {
  return varint(static_cast<uint64_t>(field) << 3) + varint(static_cast<uint64_t>(value));
}

std::string bytes(int field, std::string_view value) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(value.size()) + std::string(value);
}

std::string encode_assignment(const std::vector<int64_t>& device_ids) {
  using namespace device_assignment;
  std::string out =
      number(kReplicaCount, 1) + number(kComputationCount, static_cast<int64_t>(device_ids.size()));
  for (int64_t id : device_ids) {
    out += bytes(kComputationDevices, bytes(kReplicaDeviceIds, varint(static_cast<uint64_t>(id))));
  }
  return out;
}

/// XLA parses numbers and enums from strings, but accepts booleans only as booleans.
std::string encode_override(const std::string& name, const std::string& value) {
  using namespace override;
  const bool is_bool = value == "true" || value == "false";
  return bytes(kKey, name) +
         bytes(kValue, is_bool ? number(kBool, value == "true") : bytes(kString, value));
}

}  // namespace

std::string encode_build_options(const BuildOptions& options) {
  using namespace build_options;
  const bool spmd = options.num_partitions > 1;
  std::string build;
  // -1: no single device; the device assignment names the devices.
  if (!options.device_ids.empty()) build += number(kDeviceOrdinal, -1);
  build += number(kNumReplicas, 1) + number(kNumPartitions, options.num_partitions);
  if (spmd) build += number(kUseSpmd, 1);
  if (!options.device_ids.empty())
    build += bytes(kDeviceAssignment, encode_assignment(options.device_ids));
  if (options.device_memory_bytes > 0)
    build += number(kDeviceMemorySize, options.device_memory_bytes);
  if (spmd) build += number(kUseShardy, 1);
  std::string out = bytes(compile_options::kBuildOptions, build);
  std::map<std::string, std::string> by_name;
  for (const auto& [name, value] : options.overrides) by_name[name] = value;
  for (const auto& [name, value] : by_name)
    out += bytes(compile_options::kOverrides, encode_override(name, value));
  return out;
}

}  // namespace axle
