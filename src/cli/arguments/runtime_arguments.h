// The flags of a verb that say where its programs run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/devices/mesh.h"
#include "pjrt/make_runtime.h"
#include "runtime/executable_cache.h"
#include "runtime/runtime.h"

namespace CLI {
class App;
}

namespace axle::cli {

/// --backend, --compile-cache and --yes, and --devices and --mesh if the verb has them.
struct RuntimeArguments {
  std::string backend = "cpu";
  std::optional<int64_t> num_devices = {};
  /// Folder of the compile cache; empty: no cache.
  std::string compile_cache = default_compile_cache();
  bool yes = false;
  Mesh mesh = {};
  /// Adds the flags, including --devices.
  void add_to(CLI::App& app);
  /// Adds the flags without --devices, for verbs that run on one device.
  void add_backend_to(CLI::App& app);
  /// Adds --mesh, for verbs whose mesh does not come from a recipe.
  void add_mesh_to(CLI::App& app);
  /// Returns the runtime options of the flags. Without --devices: as many devices as the mesh has,
  /// or one.
  RuntimeOptions runtime_options() const;
  /// Makes sure that the backend's plugin is installed. Fetches a missing plugin after a yes, from
  /// the terminal or by --yes. Throws DeviceError.
  void ensure_plugin() const;
};

}  // namespace axle::cli
