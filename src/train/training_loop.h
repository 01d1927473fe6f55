// The loop of a run: steps, and what is logged, evaluated and saved between them.
#pragma once

#include <cstdint>
#include <future>
#include <optional>

#include "base/process_start.h"
#include "train/run_setup.h"

namespace axle {

class TrainingLoop {
 public:
  /// Both must outlive this. The programs of `run` are compiled.
  TrainingLoop(StartedRun& run, const StopSignal& signal)
      : run_(run), setup_(run.setup), signal_(signal) {}
  /// Takes all remaining steps, as Trainer::run() says.
  ExitCode run();

 private:
  // A step whose metrics have not been read yet. The host reads metrics one step late, so that the
  // device never waits.
  struct Pending {
    int64_t step = 0, num_tokens = 0, num_targets = 0;
    Arrays metrics, prints;
    double num_bytes = 0;
    std::future<Clock::time_point> done_at;
  };

  bool is_stopped() const { return signal_.requested() != ExitCode::kOk; }
  void take_steps();
  void take_step(const Batch& batch);
  void finish_step();
  void report(Pending done);
  void report_non_finite(const StepRecord& record, int64_t bad_group);
  [[noreturn]] void fail_non_finite(int64_t step, const NonFiniteStep& bad);
  void evaluate(bool at_end);
  bool evaluate(RepeatedEvaluation& evaler);
  bool save(bool wait);
  void save_at_end();
  void save_after_failure() noexcept;

  StartedRun& run_;
  RunSetup& setup_;
  const StopSignal& signal_;
  std::optional<Pending> pending_;
  std::optional<LongWait> first_step_wait_;
  bool is_finite_ = true;  // false: the state is never saved
};

}  // namespace axle
