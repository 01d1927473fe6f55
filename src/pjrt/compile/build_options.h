// XLA's CompileOptionsProto, encoded by hand with only the fields that Axle sets. Equal options
// always encode to equal bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
