// Timing of a run: the duration of each step, and the time since the run began.
#pragma once

#include <deque>
#include <future>
#include <utility>

#include "base/parallel.h"
#include "base/process_start.h"
#include "runtime/runtime.h"

namespace axle {

/// Returns the time at which the values of an array became available. A separate thread waits for
/// them, because a later reader only knows that they were available by then.
inline std::future<Clock::time_point> completion_of(ArrayPtr array) {
  return start_or_defer([array = std::move(array)] {
    array->wait();
    return Clock::now();
  });
}

/// A window of steps: its duration, and what the steps trained on.
struct Lap {
  double secs = 0;
  int64_t num_steps = 0, num_tokens = 0;
};

/// Measures the steps of a run and its total time.
class StepClock {
 public:
  /// Adds the time that earlier starts of the run took.
  void add_earlier(double secs) { earlier_secs_ += secs; }
  /// Excludes the time until now from all steps: it was spent on an evaluation or a save.
  void skip() {
    window_.clear();
    last_ = Clock::now();
  }
  /// Adds the step that completed at `done`. Returns the newest steps that together took
  /// kMinSecs, or all steps since the last skip() if they took less. If a completion is noticed
  /// late, the next step seems too short. Averaging over kMinSecs keeps this error small.
  Lap lap(Clock::time_point done, int64_t num_tokens) {
    done = std::max(done, last_);
    window_.push_back({std::exchange(last_, done), num_tokens});
    while (window_.size() > 1 && seconds(window_[1].began, done) >= kMinSecs) window_.pop_front();
    constexpr double kMin = 1e-9;  // for clocks coarser than a step
    Lap out{.secs = std::max(seconds(window_.front().began, done), kMin),
            .num_steps = std::ssize(window_)};
    for (const Step& step : window_) out.num_tokens += step.num_tokens;
    return out;
  }
  /// Seconds of the whole run, earlier starts included.
  double wall_secs() const { return earlier_secs_ + seconds_since(start_); }

 private:
  static constexpr double kMinSecs = 0.1;
  struct Step {
    Clock::time_point began;
    int64_t num_tokens;
  };
  static double seconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }

  double earlier_secs_ = 0;
  std::deque<Step> window_;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

}  // namespace axle
