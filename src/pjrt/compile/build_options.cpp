#include "pjrt/compile/build_options.h"

#include <map>

#include "pjrt/compile/build_option_fields.h"

namespace axle {
namespace {

namespace fields = build_option_fields;

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
  std::string out = number(fields::kReplicaCount, 1) +
                    number(fields::kComputationCount, static_cast<int64_t>(device_ids.size()));
  for (int64_t id : device_ids) {
    out += bytes(fields::kComputationDevices,
                 bytes(fields::kReplicaDeviceIds, varint(static_cast<uint64_t>(id))));
  }
  return out;
}

/// XLA parses numbers and enums from strings, but accepts booleans only as booleans.
std::string encode_override(const std::string& name, const std::string& value) {
  const bool is_bool = value == "true" || value == "false";
  return bytes(fields::kKey, name) +
         bytes(fields::kValue,
               is_bool ? number(fields::kBool, value == "true") : bytes(fields::kString, value));
}

}  // namespace

// Fields are written in ascending order.
std::string encode_build_options(const BuildOptions& options) {
  const bool spmd = options.num_partitions > 1;
  std::string build;
  // -1: no single device; the device assignment names the devices.
  if (!options.device_ids.empty()) build += number(fields::kDeviceOrdinal, -1);
  build += number(fields::kNumReplicas, 1) + number(fields::kNumPartitions, options.num_partitions);
  if (spmd) build += number(fields::kUseSpmd, 1);
  if (!options.device_ids.empty())
    build += bytes(fields::kDeviceAssignment, encode_assignment(options.device_ids));
  if (options.device_memory_bytes > 0)
    build += number(fields::kDeviceMemorySize, options.device_memory_bytes);
  if (spmd) build += number(fields::kUseShardy, 1);
  std::string out = bytes(fields::kBuildOptions, build);
  std::map<std::string, std::string> by_name;
  for (const auto& [name, value] : options.overrides) by_name[name] = value;
  for (const auto& [name, value] : by_name)
    out += bytes(fields::kOverrides, encode_override(name, value));
  return out;
}

}  // namespace axle
