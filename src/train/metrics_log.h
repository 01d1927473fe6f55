// DIR/metrics.jsonl: one JSON object a line, always written.
#pragma once

#include <cstdio>

#include "train/summary_writer.h"

namespace axle {

/// Lines {"step": 10, "loss": 2.5, ...}; evaluations have "split". On a resume, lines beyond the restored step are cut.
class MetricsLog final : public SummaryWriter {
 public:
  struct Config {
    AXLE_CONFIG(MetricsLog)
  };
  /// Throws StorageError if the file cannot be opened.
  MetricsLog(const Config& cfg, const Dims& dims, const Scope& scope);
  ~MetricsLog() override;
  void write(const StepRecord& record) override;
  void flush() override;

 private:
  void report_failure();
  std::filesystem::path path_;
  std::FILE* file_ = nullptr;
  bool failed_ = false;
};

/// Keeps the whole lines of a log whose "step" is at most `last_step`; a torn last line goes. Returns how many remain.
int64_t cut_metrics_log(const std::filesystem::path& path, int64_t last_step);

}  // namespace axle
