// The checkpointer: saves the state of a run now and then, beside the training.
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

#include "base/text/enum_text.h"
#include "base/report.h"
#include "base/tree.h"
#include "config/describe.h"
#include "config/fields/ranged.h"
#include "runtime/runtime.h"

namespace axle {

/// Who writes the files: a thread beside the training, or the caller of save().
enum class SaveMode { kBackground, kBlocking };
constexpr auto texts_of(SaveMode) {
  return std::to_array<EnumText<SaveMode>>({{SaveMode::kBackground, "background"}, {SaveMode::kBlocking, "blocking"}});
}

/// Writes checkpoints of one run into a folder and removes old ones. At most one is being written;
/// a save that fails is counted and reported, and the checkpoints before it stay. A state that
/// holds a NaN or an infinity is not saved: that counts as a failure.
///
/// Not for use from several threads. One process at a time may hold a folder (io/file_lock.h).
class Checkpointer {
 public:
  struct Config {
    /// A checkpoint after every so many steps.
    Positive<int64_t> every_steps = 1000;
    /// Of the newest ones so many stay, at least 1.
    Positive<int64_t> keep_last_n = 3;
    /// Those of steps that it divides stay for ever; none: no such steps.
    std::optional<Positive<int64_t>> keep_every_steps = {};
    /// Who writes the files: a thread beside the training, or the training itself.
    SaveMode mode = SaveMode::kBackground;
    AXLE_CONFIG(Checkpointer, every_steps, keep_last_n, keep_every_steps, mode)
  };
  /// Creates the folder and removes what earlier processes left unfinished in it. Throws
  /// ConfigError for numbers below 1; a folder that cannot be made or read is a StorageError.
  Checkpointer(const Config& config, std::filesystem::path root, Report report = report_to_stderr);
  /// Waits.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// True if a checkpoint is due after this step.
  bool due(int64_t step) const { return step > 0 && step % config_.every_steps == 0; }

  /// The state of this step came whole from its checkpoint: it counts as saved last.
  void restored(int64_t step);

  /// Waits for the save before this one, then writes. Nothing is done for the step that was saved
  /// last. Never throws for storage.
  void save(int64_t step, Tree<HostTensor> tensors, Tree<std::string> metadata = {});
  /// The same of arrays, which are copied to the host before it returns, so that they may be
  /// donated then; where the host has no room for the copy that is a failed save. Throws
  /// DeviceError if computing them failed.
  void save(int64_t step, std::span<const ProgramValue> state, std::span<const ArrayPtr> arrays,
            Tree<std::string> metadata = {});

  /// Until nothing is being written.
  void wait();
  /// The step that was saved last; waits. None where its checkpoint is gone and could not be
  /// written again.
  std::optional<int64_t> last_saved();
  /// Saves that failed so far.
  int64_t num_failures() const { return num_failures_; }
  const std::filesystem::path& root() const { return root_; }

 private:
  bool is_saved(int64_t step) const;
  void count_failure(int64_t step, std::string_view why);
  void write(int64_t step, const Tree<HostTensor>& tensors, const Tree<std::string>& metadata);

  Config config_;
  std::filesystem::path root_;
  Report report_;
  std::thread thread_;  // joined before the members below are touched
  std::optional<int64_t> last_saved_;
  std::atomic<int64_t> num_failures_ = 0;
};

}  // namespace axle
