// What the state of a training run needs of each device, known before anything is compiled.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/mesh.h"
#include "lower/program.h"

namespace axle {

struct StateMemory {
  int64_t num_devices = 1;
  double whole_bytes = 0;
  /// Of one device as the mesh divides the state; none: no such layout exists.
  std::optional<double> device_bytes = {};
  /// That programs get of a device; 0: not known.
  int64_t device_memory_bytes = 0;
  /// Whether the state alone fits. Without a layout it is false where all devices together have too
  /// little, else not known.
  std::optional<bool> fits() const;
};

/// `mesh` as the user wrote it.
StateMemory state_memory(const std::vector<ProgramValue>& state, const Mesh& mesh,
                         int64_t num_devices, int64_t device_memory_bytes);

/// "the training state is 73.9 GiB, 9.2 GiB of it on each device: it fits into 72.8 GiB".
std::string to_text(const StateMemory& state);
nlohmann::ordered_json to_json(const StateMemory& state);

/// A mesh that was refused: the message tells the memory of the state too.
struct RefusedMeshError : ConfigError {
  RefusedMeshError(std::string why, StateMemory of_state);
  std::string reason;
  StateMemory state;
};

}  // namespace axle
