// What a checkpoint of a run holds beside its tensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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
  /// What was not finite where on_non_finite=stop ended the run; empty: nothing.
  std::string stopped = {};
  /// Where it was read, for messages.
  std::filesystem::path manifest = {};
};

Tree<std::string> to_tree(const RunMetadata& metadata);
/// Throws StorageError naming the manifest for what no run has written, ConfigError for the
/// checkpoint of an import.
RunMetadata run_metadata(const CheckpointInfo& info);
/// Throws Error with kValidationFailed, as the run did, for the checkpoint of one that a step which
/// was not finite ended.
void check_not_stopped(const RunMetadata& saved);
/// How a run that goes on found its data.
struct DataStart {
  /// Whether they were begun anew in the middle of the run, now or before.
  bool restarted;
  std::string_view note;  // behind "resumed from step 5"
};
/// Goes to where `saved` stands, unless the data are to be begun anew. They go on also then where
/// that was done before and they are the same: it is the same command again. Throws StorageError
/// naming the manifest for what no input has written, DataError if it belongs to other data.
DataStart restore_input(Input& input, const RunMetadata& saved, bool restart);

}  // namespace axle
