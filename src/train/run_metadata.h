// What a checkpoint of a run holds beside its tensors.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/restore.h"
#include "data/input.h"

namespace axle {

struct RunMetadata {
  /// Text of config.yaml; empty in checkpoints of earlier versions.
  std::string config = {};
  /// Input::state of the next batch.
  std::string data = {};
  /// Whether they were begun anew in the middle of the run (--restart-data).
  bool data_restarted = false;
  /// Steps that were not finite.
  int64_t skipped_steps = 0;
  /// Seconds that the run has taken; 0 in checkpoints of earlier versions.
  double wall_secs = 0;
  /// Where it was read, for messages.
  std::filesystem::path manifest = {};
};

Tree<std::string> to_tree(const RunMetadata& metadata);
/// Throws StorageError naming the manifest for what no run has written, ConfigError for the
/// checkpoint of an import.
RunMetadata run_metadata(const CheckpointInfo& info);
/// Goes to where `saved` stands. Throws StorageError naming the manifest for what no input has
/// written, DataError if it belongs to other data.
void restore_input(Input& input, const RunMetadata& saved);
/// The same where `saved` stands in these data and they were begun anew before: whoever is told to
/// begin anew by the same command again has done so. False where not, and `input` stays as it is.
bool restore_restarted_input(Input& input, const RunMetadata& saved);

}  // namespace axle
