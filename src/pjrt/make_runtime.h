// Making the runtime of a backend from its name: a PJRT plugin or the interpreter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/runtime.h"

namespace axle {

struct RuntimeOptions {
  /// "cpu", "cuda", "tpu", ... (a PJRT plugin), or "interpreter".
  std::string backend = "cpu";
  /// Number of virtual devices of the CPU client and the interpreter. Other platforms ignore this
  /// and use the devices that are present.
  int64_t num_devices = 1;
  /// Directory of serialized executables for programs that are compiled without a
  /// CompileOptions::cache_dir; empty: those programs are not cached.
  std::string compile_cache = {};
};

/// Throws ConfigError for an unknown backend, and DeviceError if the plugin is missing. The message
/// of the latter names the command that gets the plugin.
std::unique_ptr<Runtime> make_runtime(const RuntimeOptions& options);

}  // namespace axle
