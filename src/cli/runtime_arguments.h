// Where programs of a verb run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/mesh.h"
#include "pjrt/make_runtime.h"
#include "runtime/executable_cache.h"
#include "runtime/runtime.h"

namespace CLI {
class App;
}

namespace axle::cli {

/// --backend, --compile-cache and --yes, and what the verb takes of --devices and --mesh.
struct RuntimeArguments {
  std::string backend = "cpu";
  std::optional<int64_t> num_devices = {};
  /// Empty: none.
  std::string compile_cache = default_compile_cache();
  bool yes = false;
  Mesh mesh = {};
  /// With --devices.
  void add_to(CLI::App& app);
  /// Without: for verbs that run on one device.
  void add_backend_to(CLI::App& app);
  /// For verbs whose mesh does not come from a recipe.
  void add_mesh_to(CLI::App& app);
  /// Devices as the flags say: those of the mesh, else one.
  RuntimeOptions runtime() const;
  /// Makes sure that the backend's plugin is here: fetches a missing one after a yes, on the
  /// terminal or by --yes. Throws DeviceError.
  void ensure_plugin() const;
};

}  // namespace axle::cli
