// What a run shows on the console: a bar that redraws itself on a terminal, plain lines elsewhere.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/console.h"
#include "train/record/summary_writer.h"

namespace axle {

/// Speed and cost of training, from the steps seen so far.
struct Throughput {
  double tokens_per_sec = 0;
  /// The model's share of the machine's peak for the dtype of the products (model_flops.h), 0..1; 0
  /// where the peak is unknown.
  double mfu = 0;
  /// The same of all that the program does, recomputation, elementwise work and optimizer included.
  double hfu = 0;
  double step_secs = 0;
};

/// Never waits: while standard output takes nothing, lines are dropped and counted.
class Progress {
 public:
  /// Lines appear every `every_steps` steps, and for the first and the last step.
  Progress(int64_t max_steps, int64_t every_steps);
  ~Progress();
  /// `record` has "loss", "grad_norm" and what Throughput gives.
  void step(const StepRecord& record, const Throughput& speed);
  /// A line of its own, above the bar: evaluations, checkpoints, warnings.
  void note(const std::string& line);

 private:
  void show(const std::string& text, bool is_bar = false);
  int64_t max_steps_, every_steps_;
  bool terminal_, bar_shown_ = false;
  Clock::time_point last_drawn_ = {};
  Console console_;
};

/// "1h02m", "3m20s", "12s".
std::string duration_text(double secs);
/// Resident memory of this process, in bytes; 0 where the system does not tell.
int64_t resident_bytes();

}  // namespace axle
