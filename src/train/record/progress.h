// Console output of a run: a bar that redraws itself on a terminal, plain lines elsewhere.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/console.h"
#include "train/record/summary_writer.h"

namespace axle {

/// Speed and cost of training, measured over the latest steps.
struct Throughput {
  double tokens_per_sec = 0;
  /// MFU: the model's FLOP/s as a share of the machine's peak for the dtype of the products
  /// (model_flops.h), 0..1; 0 if the peak is unknown.
  double mfu = 0;
  /// HFU: like `mfu`, but for all operations of the program, including recomputation, elementwise
  /// work and the optimizer.
  double hfu = 0;
  double step_secs = 0;
};

/// Shows the progress of a run. Never waits: while standard output takes nothing, lines are dropped
/// and counted.
class Progress {
 public:
  /// A line appears every `every_steps` steps, and for the first and the last step.
  Progress(int64_t max_steps, int64_t every_steps);
  ~Progress();
  /// Shows a step. `record` has "loss" and "grad_norm".
  void step(const StepRecord& record, const Throughput& speed);
  /// Prints a line of its own, above the bar: evaluations, checkpoints, warnings.
  void note(const std::string& line);

 private:
  void show(const std::string& text, bool is_bar = false);
  int64_t max_steps_, every_steps_;
  bool terminal_, bar_shown_ = false;
  Clock::time_point last_drawn_ = {};
  Console console_;
};

/// Returns "1h02m", "3m20s" or "12s".
std::string duration_text(double secs);
/// Resident memory of this process, in bytes; 0 if the system does not report it.
int64_t resident_bytes();

}  // namespace axle
