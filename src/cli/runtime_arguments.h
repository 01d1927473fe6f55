// Where programs of a verb run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/executable_cache.h"

namespace CLI {
class App;
}

namespace axle::cli {

/// --backend, --devices, --compile-cache and --yes.
struct RuntimeArguments {
  std::string backend = "cpu";
  std::optional<int64_t> num_devices = {};
  /// Empty: none.
  std::string compile_cache = default_compile_cache();
  bool yes = false;
  void add_to(CLI::App& app);
  /// Makes sure that the backend's plugin is here: fetches a missing one after a yes, on the
  /// terminal or by --yes. Throws DeviceError.
  void ensure_plugin() const;
};

}  // namespace axle::cli
