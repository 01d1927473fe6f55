// DIR/metrics.jsonl: one JSON object per line. Every run writes this file, so the class is not
// registered and configs do not name it.
#pragma once

#include <functional>
#include <set>

#include "io/file.h"
#include "train/record/summary_writer.h"

namespace axle {

/// Writes lines {"step":10,"loss":2.5,...}; those of evaluations also have "split". A resume cuts
/// the run's lines after the restored step, and does not write the evaluations of that step again
/// if they are already there. Lines that others have added stay. A run that starts over behind
/// records of an earlier one warns, and copies the log to metrics.jsonl.old before.
class MetricsLog final : public SummaryWriter {
 public:
  /// Throws StorageError if the file cannot be opened.
  explicit MetricsLog(const Dims& dims);
  /// Reports the number of lost lines, if any.
  ~MetricsLog() override;
  /// write() and flush() throw StorageError, once, if the file has been removed or replaced.
  void write(const StepRecord& record) override;
  void flush() override;
  /// Names of the evaluations of the restored step that the log already holds.
  const std::set<std::string>& evaluated() const { return evaluated_; }

 private:
  void check_in_place();
  int64_t restored_step_;
  std::set<std::string> evaluated_;  // of the restored step
  FileWriter file_;
  int64_t num_lost_ = 0;
  bool torn_ = false;     // the file may end in the middle of a line
  bool removed_ = false;  // the file is no longer in the folder
};

/// Calls fn with each record of the run in a log, in order; numbers that were not finite are NaN.
/// Does nothing if there is no log. Throws StorageError.
void for_each_record(const std::filesystem::path& path,
                     const std::function<void(const StepRecord&)>& fn);

/// The lines that a cut left in the log.
struct RemainingLines {
  int64_t num_lines = 0;
  /// Removed lines of the run, at or before the last step, that were cut and that no resume writes
  /// again.
  int64_t num_torn = 0;
  int64_t last_step = 0, longest_gap = 0;  // of the records of training, and between them
  /// Steps without a record between others, where every step had one before.
  int64_t num_missing = 0, first_missing = 0;
  std::set<std::string> last_splits = {};  // of the evaluations at the last step
};
/// Removes the run's lines of a log whose "step" is above `last_step`, and torn lines. A line of
/// the run begins with {"step": and holds numbers beside "split"; all others stay. Does nothing if
/// there is no log. Throws StorageError.
RemainingLines truncate_metrics_log(const std::filesystem::path& path, int64_t last_step);

}  // namespace axle
