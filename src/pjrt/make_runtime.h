// The runtime of a backend by its name: a PJRT plugin or the interpreter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/runtime.h"

namespace axle {

struct RuntimeOptions {
  /// "cpu", "cuda", "tpu", ... (a PJRT plugin), or "interpreter".
  std::string backend = "cpu";
  /// Virtual devices of the CPU client; other platforms have the devices that they have.
  int64_t num_devices = 1;
  /// Directory of serialized executables for what is compiled without a `cache_dir` of its own;
  /// empty: nothing of it is cached.
  std::string compile_cache = {};
};

/// Throws DeviceError naming the one command that gets a missing plugin.
std::unique_ptr<Runtime> make_runtime(const RuntimeOptions& options);

}  // namespace axle
