// The time of a run: how long each step took, and how long the run has gone.
#pragma once

#include <deque>
#include <future>
#include <utility>

#include "base/clock.h"
#include "runtime/runtime.h"

namespace axle {

/// When the values of an array were there. A thread of its own waits for them, since whoever reads
/// a result later only knows that it was there by then.
inline std::future<Clock::time_point> completion_of(ArrayPtr array) {
  return std::async([array = std::move(array)] {
    array->wait();
    return Clock::now();
  });
}

/// What the steps of a window took and trained on.
struct Lap {
  double secs = 0;
  int64_t num_steps = 0, num_tokens = 0;
};

class StepClock {
 public:
  /// What earlier starts of the run took counts as well.
  void add_earlier(double secs) { earlier_secs_ += secs; }
  /// The time until now belongs to no step: it went into an evaluation or a save.
  void skip() {
    window_.clear();
    last_ = Clock::now();
  }
  /// Adds the step that was complete at `done`; the newest steps that took kLeastSecs together, or
  /// all since the last skip(). A completion may be seen late, which makes the step after it look
  /// short: by far too short where both take less than a thread waits for the processor.
  Lap lap(Clock::time_point done, int64_t num_tokens) {
    done = std::max(done, last_);
    window_.push_back({std::exchange(last_, done), num_tokens});
    while (window_.size() > 1 && seconds(window_[1].began, done) >= kLeastSecs) window_.pop_front();
    constexpr double kLeast = 1e-9;  // of clocks that are coarser than a step
    Lap out{.secs = std::max(seconds(window_.front().began, done), kLeast),
            .num_steps = std::ssize(window_)};
    for (const Step& step : window_) out.num_tokens += step.num_tokens;
    return out;
  }
  /// Since this process began with the run.
  double secs_since_start() const { return seconds_since(start_); }
  /// Of the whole run, earlier starts included.
  double wall_secs() const { return earlier_secs_ + secs_since_start(); }

 private:
  static constexpr double kLeastSecs = 0.1;
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
