// The metadata that a checkpoint of a run holds beside its tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/restore.h"
#include "data/input.h"

namespace axle {

struct RunMetadata {
  /// Text of config.yaml; empty in checkpoints of earlier versions.
  std::string config = {};
  /// State of the input (Input::state) at the next batch.
  std::string data = {};
  /// States of the inputs of the evalers at their beginning, by name; none in checkpoints of
  /// earlier versions.
  Tree<std::string> evaler_data = {};
  /// True if the run restarted its data at some point (--restart-data).
  bool data_restarted = false;
  /// Number of steps that were not finite.
  int64_t skipped_steps = 0;
  /// Seconds that the run has taken; 0 in checkpoints of earlier versions.
  double wall_secs = 0;
  /// What was not finite in the step at which on_non_finite=stop ended the run; empty: nothing.
  std::string stopped = {};
  /// The file that the metadata were read from, for messages.
  std::filesystem::path manifest = {};
};

Tree<std::string> to_tree(const RunMetadata& metadata);
/// Parses the metadata of a checkpoint. Throws StorageError naming the manifest if no run can have
/// written them, ConfigError if the checkpoint is that of an import.
RunMetadata run_metadata(const CheckpointInfo& info);
/// Returns the metadata of the newest checkpoint of a run whose manifest is whole; none if there is
/// none, or if it is that of an import. Throws as run_metadata does.
std::optional<RunMetadata> newest_metadata(const std::filesystem::path& run);
/// Returns the config of the newest checkpoint of a run whose manifest is whole; empty if there is
/// none, or if it keeps no config.
std::string newest_config(const std::filesystem::path& run);
/// Throws Error with kValidationFailed, as the run did, if a step that was not finite ended the run
/// of this checkpoint.
void check_not_stopped(const RunMetadata& saved);
/// How a resumed run found its data.
struct DataStart {
  /// True if the data were restarted in the middle of the run, by this resume or an earlier one.
  bool restarted;
  std::string_view note;  // message text that follows "resumed from step 5"
};
/// Moves the input to the saved position, unless `restart` asks to restart the data. With
/// `restart`, the data still continue if an earlier resume restarted these same data: the user
/// repeated the same command. Throws StorageError naming the manifest if no input can have written
/// the saved state, DataError if the state belongs to other data.
DataStart restore_input(Input& input, const RunMetadata& saved, bool restart);

}  // namespace axle
