// Where programs of a verb run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/mesh.h"
#include "runtime/runtime.h"

namespace CLI {
class App;
}

namespace axle::cli {

/// --backend, --devices and --compile-cache; with add_mesh_to also --mesh.
struct RuntimeArguments {
  std::string backend = "cpu";
  std::optional<int64_t> num_devices = {};
  std::string compile_cache = {};
  Mesh mesh = {};
  void add_to(CLI::App& app);
  /// For verbs whose mesh does not come from a recipe.
  void add_mesh_to(CLI::App& app);
  /// Devices as the flags say: those of the mesh, else one.
  RuntimeOptions runtime() const;
};

}  // namespace axle::cli
