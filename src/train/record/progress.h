// Console output of a run: a bar that redraws itself on a terminal, plain lines elsewhere.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/console.h"
#include "train/record/summary_writer.h"
#include "train/record/throughput.h"

namespace axle {

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

}  // namespace axle
