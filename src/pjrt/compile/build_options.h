// XLA's CompileOptionsProto, encoded by hand: the few fields that Axle sets, always in the same
// bytes for the same options.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace axle {

/// How hard the compiler tries; numbers are XLA's.
enum class CompileEffort : int { kUnspecified = 0, kO0 = 9, kO1 = 19, kO2 = 29, kO3 = 39 };

struct BuildOptions {
  /// Devices of one program; more than 1 means SPMD, partitioned by Shardy.
  int64_t num_partitions = 1;
  /// Device of each partition; empty leaves the choice to the plugin.
  std::vector<int64_t> device_ids = {};
  CompileEffort effort = CompileEffort::kUnspecified;
  /// Bytes of a device that the compiler may plan with; 0: it guesses.
  int64_t device_memory_bytes = 0;
  /// Compiler settings by name, on top of the plugin's defaults; of equal names the last counts.
  std::vector<std::pair<std::string, std::string>> overrides = {};
};

std::string encode_build_options(const BuildOptions& options);

}  // namespace axle
