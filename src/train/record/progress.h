// Console output of a run: a bar that redraws itself on a terminal, plain lines elsewhere.
#pragma once

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/console.h"
#include "base/process_start.h"
#include "train/record/metrics.h"
#include "train/record/summary_writer.h"

namespace axle {

/// Returns what a screen of so many columns shows of a step: "[=>  ] step 1/8  loss 2.5000  ...".
/// Where all of it has no room, first the bar gets shorter and then goes, then the last fields go:
/// mem, eta, mfu, tok/s, grad, loss.
std::string step_line(const StepRecord& record, const Throughput& speed, int64_t max_steps,
                      size_t columns);

/// Shows the progress of a run. Never waits: while the console takes nothing, lines are dropped
/// and counted. Threads may share it.
class Progress {
 public:
  /// A line appears every `every_steps` steps, and for the first and the last step.
  Progress(int64_t max_steps, int64_t every_steps, int fd = STDOUT_FILENO);
  /// Shows a step. `record` has "loss" and "grad_norm".
  void step(const StepRecord& record, const Throughput& speed);
  /// Prints a line of its own, above the bar: evaluations, checkpoints, warnings.
  void note(const std::string& line);
  /// Says that something without steps goes on, on a screen only.
  void waiting(const std::string& what);
  bool is_on_screen() const { return line_.is_shown(); }

 private:
  std::mutex mutex_;
  const int fd_;
  int64_t max_steps_, every_steps_;
  Clock::time_point last_drawn_ = {};
  StatusLine line_;
};

/// While it lives, tells how long something takes already: on a screen each second, elsewhere in a
/// line after one minute, then each time after twice as long.
class LongWait {
 public:
  /// `what` is as in "compiling the step". `expected_secs` is the least time that it takes; 0: not
  /// known.
  LongWait(Progress& progress, std::string what, double expected_secs = 0,
           double first_line_secs = 60);
  ~LongWait();
  LongWait(const LongWait&) = delete;
  LongWait& operator=(const LongWait&) = delete;
  /// Says that this share of it, above 0 and at most 1, is done.
  void done(double share) { share_ = share; }

 private:
  void watch();
  double secs_to_go(double secs) const;
  Progress& progress_;
  const std::string what_;
  const double expected_secs_, first_line_secs_;
  std::atomic<double> share_ = 0;  // 0: not known
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false, is_drawn_ = false;
  std::thread watcher_;
};

}  // namespace axle
