// The folder of a run's checkpoints: "step_00000100" each, "step_00000100.tmp-<pid>" while one is
// written or removed, "step_00000100.tmp-<pid>-old" while one is replaced.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace axle {

/// ROOT/step_00000100.
std::filesystem::path checkpoint_folder(const std::filesystem::path& root, int64_t step);
/// The name under which this process writes or removes it.
std::filesystem::path temporary_folder(const std::filesystem::path& root, int64_t step);
/// The name under which this process keeps it, whole, while a new one takes its place.
std::filesystem::path replaced_folder(const std::filesystem::path& root, int64_t step);

/// Steps of all checkpoints in the folder, ascending, damaged ones included; none if there is no
/// such folder. Throws StorageError.
std::vector<int64_t> checkpoint_steps(const std::filesystem::path& root);

/// Removes what earlier processes left unfinished. A checkpoint that one of them was replacing goes
/// back to its place if that is empty. Only for the one process that writes there.
void remove_stale_checkpoints(const std::filesystem::path& root);

struct Retention {
  int64_t keep_last_n = 3;
  /// Checkpoints of steps that it divides stay for ever; none: no such steps.
  std::optional<int64_t> keep_every_steps = {};
};
/// Removes older checkpoints once that of `newest`, which is known to be good, is there. Those of
/// later steps, left by a run that went on from an earlier one, are not touched.
void remove_old_checkpoints(const std::filesystem::path& root, int64_t newest,
                            const Retention& retention);

}  // namespace axle
