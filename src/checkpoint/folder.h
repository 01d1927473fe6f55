// The folder of a run's checkpoints. Its entries:
//   step_00000100                a checkpoint
//   step_00000100.tmp-<pid>      a checkpoint that is being written or removed
//   step_00000100.tmp-<pid>-old  a checkpoint that is being replaced
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace axle {

/// Returns ROOT/step_00000100.
std::filesystem::path checkpoint_folder(const std::filesystem::path& root, int64_t step);
/// Returns the name under which this process writes or removes the checkpoint of `step`.
std::filesystem::path temporary_folder(const std::filesystem::path& root, int64_t step);
/// Returns the name under which this process keeps the old checkpoint whole while a new one
/// replaces it.
std::filesystem::path replaced_folder(const std::filesystem::path& root, int64_t step);

/// Returns the steps of all checkpoints in the folder, ascending, including damaged ones. Empty if
/// the folder does not exist. Throws StorageError.
std::vector<int64_t> checkpoint_steps(const std::filesystem::path& root);

/// Returns the steps whose checkpoint was being replaced when a process ended, and which have no
/// checkpoint now: remove_stale_checkpoints moves them back.
std::vector<int64_t> interrupted_steps(const std::filesystem::path& root);

/// Removes what earlier processes left unfinished. If a process was replacing a checkpoint and its
/// path is free, the old checkpoint is moved back. Only for the one process that writes there.
void remove_stale_checkpoints(const std::filesystem::path& root);

/// Which checkpoints stay.
struct Retention {
  int64_t keep_last_n = 3;
  /// Checkpoints of steps that are multiples of this stay forever; none: no such steps.
  std::optional<int64_t> keep_every_steps = {};
};
/// Removes checkpoints older than `newest`, which must be known to be good. Checkpoints of later
/// steps stay: they were left by a run that was then resumed from an earlier step.
void remove_old_checkpoints(const std::filesystem::path& root, int64_t newest,
                            const Retention& retention);

// Names of the files in the folder of a run. The folder of an import has the same config.yaml and
// checkpoints.

inline std::filesystem::path config_file_of(const std::filesystem::path& run) {
  return run / "config.yaml";
}
inline std::filesystem::path checkpoints_of(const std::filesystem::path& run) {
  return run / "checkpoints";
}
inline std::filesystem::path metrics_file_of(const std::filesystem::path& run) {
  return run / "metrics.jsonl";
}
inline std::filesystem::path event_files_of(const std::filesystem::path& run) {
  return run / "tensorboard";
}
inline std::filesystem::path lock_file_of(const std::filesystem::path& run) { return run / "lock"; }

/// Throws ConfigError if the folder has no config.yaml.
void check_config_file(const std::filesystem::path& run);

}  // namespace axle
