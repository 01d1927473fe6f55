// The checkpointer: saves the state of a run every few steps, in parallel with the training.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/text/text.h"
#include "base/tree.h"
#include "checkpoint/state_files.h"
#include "config/config_type.h"
#include "config/fields.h"
#include "runtime/runtime.h"

namespace axle {

/// Who writes the files: a thread in parallel with the training, or the caller of save().
enum class SaveMode { kBackground, kBlocking };
constexpr auto texts_of(SaveMode) {
  return std::to_array<EnumText<SaveMode>>(
      {{SaveMode::kBackground, "background"}, {SaveMode::kBlocking, "blocking"}});
}

/// Writes checkpoints of one run into a folder and removes old ones. At most one checkpoint is
/// being written at a time. A save that fails is counted and reported, and the earlier checkpoints
/// stay. A state that holds a NaN or an infinity is not saved and counts as a failure.
///
/// Not thread-safe. One process at a time may hold a folder (io/file_lock.h).
class Checkpointer {
 public:
  struct Config {
    /// Steps between checkpoints.
    Positive<int64_t> every_steps = 1000;
    /// How many of the newest checkpoints are kept, at least 1.
    Positive<int64_t> keep_last_n = 3;
    /// Checkpoints of steps that are multiples of this are kept forever; none: no such steps.
    std::optional<Positive<int64_t>> keep_every_steps = {};
    /// Who writes the files: a thread in parallel with the training, or the training itself.
    SaveMode mode = SaveMode::kBackground;
    AXLE_CONFIG(Checkpointer, every_steps, keep_last_n, keep_every_steps, mode)
  };
  /// Creates the folder and removes what earlier processes left unfinished in it. Throws
  /// StorageError if the folder can't be made or read.
  Checkpointer(const Config& config, std::filesystem::path root, Report report = report_to_stderr);
  /// Waits until the last save is written.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// True if a checkpoint is due after this step.
  bool is_due(int64_t step) const { return step > 0 && step % config_.every_steps == 0; }

  /// Records that a run restored the whole state of `step`. The step then counts as
  /// the last saved one.
  void mark_restored(int64_t step);

  /// Waits for the previous save, then writes the checkpoint. Does nothing if `step` was saved
  /// last. Never throws StorageError: a failed save is counted and reported.
  void save(int64_t step, Tree<HostTensor> tensors, Tree<std::string> metadata = {});
  /// Like save() above, for arrays on devices. The caller may donate them afterwards: a blocking
  /// save has written them by then, one tensor at a time, and a save in the background has copied
  /// all of them to the host. If the host has no room, the save counts as failed. Throws
  /// DeviceError if the computation of an array failed.
  void save(int64_t step, std::span<const ProgramValue> state, std::span<const ArrayPtr> arrays,
            Tree<std::string> metadata = {}) {
    save(step, state, arrays, std::move(metadata), config_.mode);
  }
  /// The same in another mode than the configured one.
  void save(int64_t step, std::span<const ProgramValue> state, std::span<const ArrayPtr> arrays,
            Tree<std::string> metadata, SaveMode mode);

  /// Waits until nothing is being written.
  void wait();
  /// Waits, then returns the step that was saved last. None if its checkpoint has disappeared and
  /// could not be written again.
  std::optional<int64_t> last_saved();
  /// Number of saves that failed so far.
  int64_t num_failures() const { return num_failures_; }
  const std::filesystem::path& root() const { return root_; }

 private:
  bool is_saved(int64_t step) const;
  void count_failure(int64_t step, std::string_view why);
  void write(int64_t step, const ForEachTensor& tensors, const Tree<std::string>& metadata);

  Config config_;
  std::filesystem::path root_;
  Report report_;
  std::thread thread_;  // joined before the members below are touched
  std::optional<int64_t> last_saved_;
  std::atomic<int64_t> num_failures_ = 0;
};

}  // namespace axle
