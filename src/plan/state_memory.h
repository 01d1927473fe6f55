// The memory that the training state needs on each device, known before anything is compiled.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/devices/mesh.h"
#include "lower/program.h"

namespace axle {

struct StateMemory {
  int64_t num_devices = 1;
  /// Bytes of the whole state, without replicas.
  double whole_bytes = 0;
  /// Bytes of the state on one device of the mesh; none: the mesh has no layout for the state.
  std::optional<double> device_bytes = {};
  /// Bytes of one device that programs may use; 0: not known.
  int64_t device_memory_bytes = 0;
  /// True if the state alone fits. Without a layout: false if all devices together have too little
  /// memory, else none. None as well if device_memory_bytes is 0.
  std::optional<bool> fits() const;
};

/// `mesh` is the mesh as the user wrote it; an axis of size -1 may be open.
StateMemory state_memory(const std::vector<ProgramValue>& state, const Mesh& mesh,
                         int64_t num_devices, int64_t device_memory_bytes);

/// Returns "the training state is 73.9 GiB, 9.2 GiB of it on each device: it fits into 72.8 GiB".
std::string to_text(const StateMemory& state);
nlohmann::ordered_json to_json(const StateMemory& state);

/// A mesh was refused. The message also gives the memory of the training state.
struct RefusedMeshError : ConfigError {
  RefusedMeshError(std::string why, StateMemory of_state);
  std::string reason;
  StateMemory state;
};

}  // namespace axle
