#include "pjrt/compile/build_options.h"

#include <map>

#include "io/proto.h"

namespace axle {
namespace {

namespace fields = build_option_fields;

ProtoWriter assignment(const std::vector<int64_t>& device_ids) {
  ProtoWriter out;
  out.varint(fields::kReplicaCount, 1).varint(fields::kComputationCount, device_ids.size());
  for (const int64_t id : device_ids) {
    out.message(fields::kComputationDevices, ProtoWriter().packed(fields::kReplicaDeviceIds, {id}));
  }
  return out;
}

// XLA parses numbers and enums from strings, but accepts booleans only as booleans.
ProtoWriter override_of(const std::string& name, const std::string& value) {
  ProtoWriter typed, out;
  if (value == "true" || value == "false")
    typed.varint(fields::kBool, value == "true");
  else
    typed.bytes(fields::kString, value);
  return out.bytes(fields::kKey, name).message(fields::kValue, typed);
}

}  // namespace

// Fields are written in ascending order.
std::string encode_build_options(const BuildOptions& options) {
  const bool spmd = options.num_partitions > 1;
  ProtoWriter build;
  // -1: no single device; the device assignment names the devices.
  if (!options.device_ids.empty()) build.varint(fields::kDeviceOrdinal, static_cast<uint64_t>(-1));
  build.varint(fields::kNumReplicas, 1)
      .varint(fields::kNumPartitions, static_cast<uint64_t>(options.num_partitions));
  if (spmd) build.varint(fields::kUseSpmd, 1);
  if (!options.device_ids.empty())
    build.message(fields::kDeviceAssignment, assignment(options.device_ids));
  if (options.device_memory_bytes > 0)
    build.varint(fields::kDeviceMemorySize, static_cast<uint64_t>(options.device_memory_bytes));
  if (spmd) build.varint(fields::kUseShardy, 1);
  ProtoWriter out;
  out.message(fields::kBuildOptions, build);
  std::map<std::string, std::string> by_name;
  for (const auto& [name, value] : options.overrides) by_name[name] = value;
  for (const auto& [name, value] : by_name)
    out.message(fields::kOverrides, override_of(name, value));
  return out.text();
}

}  // namespace axle
