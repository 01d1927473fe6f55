// What a checkpoint of a run holds beside its tensors.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/restore.h"

namespace axle {

struct RunMetadata {
  /// Text of config.yaml; empty in checkpoints of earlier versions.
  std::string config = {};
  /// Input::state of the next batch.
  std::string data = {};
  /// Steps that were not finite.
  int64_t skipped_steps = 0;
  /// Seconds that the run has taken; 0 in checkpoints of earlier versions.
  double wall_secs = 0;
};

Tree<std::string> to_tree(const RunMetadata& metadata);
/// Throws StorageError naming the manifest for what no run has written.
RunMetadata run_metadata(const CheckpointInfo& info);

}  // namespace axle
