// Field numbers of the messages of XLA's compile options, by the names of the fields.
//
// Source: xla/pjrt/proto/compile_options.proto and xla/xla_data.proto of OpenXLA.
#pragma once

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
