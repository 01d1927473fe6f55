// Timing of a run: the duration of each step, the time since the run began, the speed of training,
// and how much of the machine it uses.
#pragma once

#include <cstdint>
#include <deque>
#include <future>
#include <span>
#include <string_view>
#include <utility>

#include "base/parallel.h"
#include "base/process_start.h"
#include "base/tree.h"
#include "ir/tensor.h"
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

/// Speed and cost of training, measured over the latest steps.
struct Throughput {
  double tokens_per_sec = 0;
  /// MFU: the model's FLOP/s as a share of the machine's peak for the dtype of the products
  /// (program/model_flops.h), 0..1; 0 if the peak is unknown.
  double mfu = 0;
  /// HFU: like `mfu`, but for all operations of the program, including recomputation, elementwise
  /// work and the optimizer.
  double hfu = 0;
  double step_secs = 0;
};

/// What a step costs, and what the machine can do.
struct StepCost {
  /// Floating-point operations of the model and of the whole program.
  double model_flops = 0, program_flops = 0;
  /// The machine's peak in FLOP/s for the dtype of the products; 0: unknown.
  double peak_flops = 0;
  /// Returns the least seconds of a step, at the peak; 0: not known.
  double least_step_secs() const { return peak_flops > 0 ? model_flops / peak_flops : 0; }
};
Throughput throughput_of(const Lap& lap, const StepCost& cost);

/// Adds "tokens_per_sec", "mfu" and "hfu" to the values of a record.
void add_throughput(Tree<double>& values, const Throughput& speed);

// The metrics of a run: names that its records use themselves, under which no model or learner may
// report, values from the devices, and those that follow from others on the host.

/// A reserved name, and the part of the program that writes it.
struct RecordName {
  std::string_view name, owner;
};
std::span<const RecordName> record_names();

/// Throws ConfigError "<model>: metric '<name>': ..." if a model reports under the name of a
/// record's own field or of layer summaries ("summary/...").
void check_model_metrics(std::string_view model, const Tree<Tensor>& metrics);
/// Like check_model_metrics, for a learner. The learner may use its own reserved names, but no name
/// in `others`, the model's metrics.
void check_learner_metrics(const Tree<Tensor>& metrics, const Tree<Tensor>& others);

/// Returns the values of a program's results from index `first` on, by name. The elements of a
/// vector get numbers: "name/0", "name/1". Waits for the values.
Tree<double> metric_values(const Program& program, size_t first, const Arrays& metrics);

/// Adds what follows from "cross_entropy", a mean over `num_targets` in nats (without it, from
/// "loss"): "perplexity", its exponential, and "bits_per_byte" if the targets stand for
/// `num_bytes` > 0 bytes of text. Both are exact for means over several batches, which averages of
/// those of the batches are not. Adds nothing if the model has no cross entropy and its own
/// "num_targets" are not these.
void add_text_metrics(Tree<double>& metrics, int64_t num_targets, double num_bytes);

}  // namespace axle
