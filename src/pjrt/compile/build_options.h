// XLA's CompileOptionsProto, encoded by hand with only the fields that Axle sets. Equal options
// always encode to equal bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Field numbers of the messages of XLA's compile options, by the names of the fields.
//
// Source: xla/pjrt/proto/compile_options.proto and xla/xla_data.proto of OpenXLA.
namespace axle::build_option_fields {

enum CompileOptions { kBuildOptions = 3, kOverrides = 7 };
// debug_options (3) is never sent: that message would replace all defaults, even for the fields
// that it leaves out.
enum BuildOptions {
  kDeviceOrdinal = 1,
  kNumReplicas = 4,
  kNumPartitions = 5,
  kUseSpmd = 6,
  kDeviceAssignment = 9,
  kDeviceMemorySize = 15,
  kUseShardy = 19
};
enum DeviceAssignment { kReplicaCount = 1, kComputationCount = 2, kComputationDevices = 3 };
enum ComputationDevice { kReplicaDeviceIds = 1 };
enum Override { kKey = 1, kValue = 2 };
enum OverrideValue { kString = 1, kBool = 2 };

}  // namespace axle::build_option_fields

namespace axle {

struct BuildOptions {
  /// Number of devices that run the program together. More than 1 means SPMD with Shardy as the
  /// partitioner.
  int64_t num_partitions = 1;
  /// Device id of each partition; empty: the plugin chooses.
  std::vector<int64_t> device_ids = {};
  /// Device memory that the compiler may plan with, in bytes; 0: the compiler guesses.
  int64_t device_memory_bytes = 0;
  /// Compiler settings as (name, value), on top of the plugin's defaults. If a name occurs twice,
  /// the last value wins.
  std::vector<std::pair<std::string, std::string>> overrides = {};
};

std::string encode_build_options(const BuildOptions& options);

}  // namespace axle
