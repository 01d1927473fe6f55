// The time of a run: how long each step took, and how long the run has gone.
#pragma once

#include <future>

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

class StepClock {
 public:
  /// What earlier starts of the run took counts as well.
  void add_earlier(double secs) { earlier_secs_ += secs; }
  /// The time until now belongs to no step: it went into an evaluation or a save.
  void skip() { last_ = Clock::now(); }
  /// Seconds of the step that was complete at `done`: since the one before it, or the last skip().
  double lap(Clock::time_point done) {
    constexpr double kLeast = 1e-9;  // of clocks that are coarser than a step
    const double secs = std::chrono::duration<double>(done - last_).count();
    last_ = std::max(last_, done);
    return std::max(secs, kLeast);
  }
  /// Since this process began with the run.
  double secs_since_start() const { return seconds_since(start_); }
  /// Of the whole run, earlier starts included.
  double wall_secs() const { return earlier_secs_ + secs_since_start(); }

 private:
  double earlier_secs_ = 0;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

}  // namespace axle
