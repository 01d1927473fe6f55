// DIR/metrics.jsonl: one JSON object a line. Every run writes it, so it is no class that configs
// name.
#pragma once

#include <set>

#include "io/file.h"
#include "train/record/summary_writer.h"

namespace axle {

/// Lines {"step": 10, "loss": 2.5, ...}; evaluations have "split". On a resume, lines beyond the
/// restored step are cut, and evaluations of that step that are there already are not written
/// again.
class MetricsLog final : public SummaryWriter {
 public:
  /// Throws StorageError if the file cannot be opened.
  explicit MetricsLog(const Dims& dims);
  /// Tells how many lines were lost, if any.
  ~MetricsLog() override;
  /// These throw StorageError, once, where the file has been removed or replaced.
  void write(const StepRecord& record) override;
  void flush() override;
  /// The evaluations of the restored step that the log holds already.
  const std::set<std::string>& evaluated() const { return evaluated_; }

 private:
  void check_in_place();
  int64_t restored_step_;
  std::set<std::string> evaluated_;  // splits of the restored step
  FileWriter file_;
  int64_t num_lost_ = 0;
  bool torn_ = false;     // the file may end in the middle of a line
  bool removed_ = false;  // the file is no longer in the folder
};

/// What a cut leaves.
struct KeptLines {
  int64_t num_lines = 0;
  std::set<std::string> last_splits = {};  // those of evaluations at the last step
};
/// Keeps the whole lines of a log whose "step" is at most `last_step`; torn lines go. Nothing
/// happens where there is no log. Throws StorageError.
KeptLines cut_metrics_log(const std::filesystem::path& path, int64_t last_step);

}  // namespace axle
