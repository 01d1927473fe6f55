#include "train/trainer.h"

#include <fmt/format.h>

#include <cstdint>
#include <future>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/process_start.h"
#include "config/register.h"
#include "runtime/arguments.h"
#include "train/record/metrics.h"
#include "train/run_setup.h"

namespace axle {

// The loop of a run: steps, and what is logged, evaluated and saved between them.
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

namespace {

// Which state is saved when a step that is not finite ends the run: the one without that step
// (`is_saved`), or an earlier one. `how` tells how to continue from the former.
std::string what_is_saved(bool is_saved, std::optional<int64_t> last, std::string_view how) {
  if (is_saved)
    return fmt::format("without that step is saved as step {} ({} to continue)", *last, how);
  return last ? fmt::format("is not saved; the last good one is that of step {}", *last)
              : "could not be saved";
}

// What to change in the command of a run that ended because a step was not finite, so that it
// continues. --find-nan ends a run whatever the policy says.
std::string how_to_continue(bool find_nan, OnNonFinite policy) {
  if (!find_nan) return "set on_non_finite=skip";
  return policy == OnNonFinite::kSkip ? "leave out --find-nan"
                                      : "leave out --find-nan and set on_non_finite=skip";
}

}  // namespace

ExitCode TrainingLoop::run() {
  try {
    take_steps();
    const ExitCode code = signal_.requested();
    if (code != ExitCode::kOk && run_.step == run_.first_step) {
      // The state is already in a checkpoint, or the seed gives the same initial state again.
      run_.progress.note(
          fmt::format("stopped by a signal before step {}, with nothing new to save; run the same "
                      "command to continue",
                      run_.step + 1));
      setup_.folder.keep();
      return code;
    }
    save_at_end();
    if (code == ExitCode::kOk) evaluate(/*at_end=*/true);
    run_.records->flush();
  } catch (...) {
    save_after_failure();
    throw;
  }
  run_.tell_left_out();
  const ExitCode code = signal_.requested();
  if (code != ExitCode::kOk)
    run_.progress.note(fmt::format(
        "stopped by a signal after step {}; run the same command to continue", run_.step));
  return code;
}

// First runs evaluations that an earlier start left undone. After a step, the save comes before the
// evaluations, so that a failing evaluation can't cost a step.
void TrainingLoop::take_steps() {
  run_.clock.skip();
  evaluate(/*at_end=*/false);
  first_step_wait_.emplace(run_.progress, fmt::format("step {}", run_.step + 1),
                           run_.cost.least_step_secs());
  while (!is_stopped() && run_.step < setup_.config.max_steps) {
    const auto batch = setup_.input->next();
    if (!batch) {
      run_.progress.note(fmt::format("the data ended after step {}", run_.step));
      break;
    }
    take_step(*batch);
    if (setup_.checkpointer.is_due(run_.step)) save(false);
    evaluate(/*at_end=*/false);
  }
  finish_step();
  first_step_wait_.reset();
}

void TrainingLoop::take_step(const Batch& batch) {
  DeviceState& state = run_.state;
  Arrays arguments = state.arrays;  // keeps the arrays alive until the step has taken them over
  append_by_name(arguments, batch.tensors, setup_.step, *setup_.runtime);
  if (run_.finder) run_.finder->remember(arguments);
  Arrays outputs = run_.executable->execute(arguments);
  const std::span next(outputs.data(), state.leaves.size());
  const std::span rest = std::span(outputs).subspan(next.size());
  const size_t num_prints = setup_.prints.size();
  const auto metrics = rest.first(rest.size() - num_prints), prints = rest.last(num_prints);
  state.arrays.assign(next.begin(), next.end());
  run_.metadata.data = setup_.input->state();
  ++run_.step;
  Pending started{.step = run_.step,
                  .num_tokens = num_real_positions(batch),
                  .num_targets = batch.num_targets,
                  .metrics = Arrays(metrics.begin(), metrics.end()),
                  .prints = Arrays(prints.begin(), prints.end()),
                  .num_bytes = batch.num_target_bytes,
                  .done_at = completion_of(outputs.back())};
  if (auto before = std::exchange(pending_, std::move(started))) report(std::move(*before));
  if (run_.finder) finish_step();  // the next step would replace the state that the finder needs
}

void TrainingLoop::finish_step() {
  if (auto done = std::exchange(pending_, std::nullopt)) report(std::move(*done));
}

// Waits for the metrics of a step, which are complete by now or soon, and reports them.
void TrainingLoop::report(Pending done) {
  StepRecord record{.step = done.step,
                    .values = metric_values(setup_.step, run_.state.leaves.size(), done.metrics)};
  const Throughput speed =
      throughput_of(run_.clock.lap(done.done_at.get(), done.num_tokens), run_.cost);
  first_step_wait_.reset();
  const auto bad_group = static_cast<int64_t>(record.values.extract("not_finite").mapped());
  is_finite_ &= bad_group < 0;  // whatever ends the run
  add_text_metrics(record.values, done.num_targets, done.num_bytes);
  add_throughput(record.values, speed);
  record.values["wall_secs"] = run_.clock.wall_secs();
  if (run_.num_left_out > 0)
    record.values["skipped_documents"] = static_cast<double>(run_.num_left_out);
  const bool skipped = record.values["skipped"] != 0;
  run_.metadata.skipped_steps += skipped;
  if (!skipped) record.values.erase("skipped");
  // Before the record: if it cannot be written, the state is saved with this reason.
  std::string& stopped = run_.metadata.stopped;
  if (skipped && setup_.config.on_non_finite == OnNonFinite::kStop && stopped.empty())
    stopped = fmt::format("step {}: expected finite numbers", record.step);
  run_.records->write(record);
  for (const std::string& line : setup_.prints.lines(done.prints))
    run_.progress.note(fmt::format("step {}: {}", record.step, line));
  if ((skipped || bad_group >= 0) && !run_.records->is_failing())
    report_non_finite(record, bad_group);
  run_.progress.step(record, speed);
}

// Says what was not finite. Ends the run where it has to.
void TrainingLoop::report_non_finite(const StepRecord& record, int64_t bad_group) {
  const NonFiniteStep bad = non_finite_step(record, bad_group, record.step == run_.first_step + 1,
                                            run_.state, setup_.folder.checkpoints());
  if (bad.is_permanent || setup_.config.on_non_finite == OnNonFinite::kStop || run_.finder)
    fail_non_finite(record.step, bad);
  const int64_t count = run_.metadata.skipped_steps;
  run_.progress.note(
      fmt::format("step {}: not finite: {}; the state was kept, {} such step{} so far", record.step,
                  bad.what, count, count == 1 ? "" : "s"));
}

void TrainingLoop::fail_non_finite(int64_t step, const NonFiniteStep& bad) {
  run_.records->set_failing();  // the next step may be under way
  std::string& stopped = run_.metadata.stopped;
  stopped = fmt::format("step {}: expected finite numbers, got {}", step, bad.what);
  const bool is_saved = !bad.is_permanent && save(true);
  if (run_.finder)
    run_.finder->report(step, is_saved, [&](const auto& line) { run_.progress.note(line); });
  const std::string how = how_to_continue(run_.finder.has_value(), setup_.config.on_non_finite);
  throw Error(fmt::format("{}; the state {}", stopped,
                          what_is_saved(is_saved, setup_.checkpointer.last_saved(), how)),
              ExitCode::kValidationFailed);
}

// Runs the evaluations that are due; those of the last step run at the end, after its save.
void TrainingLoop::evaluate(bool at_end) {
  if (!at_end && (run_.step == 0 || run_.step >= setup_.config.max_steps)) return;
  for (RepeatedEvaluation* evaler : setup_.evaluations.due_evaluations(run_.step, at_end)) {
    if (!evaluate(*evaler)) return;
  }
}

// Returns false if a signal asked to end.
bool TrainingLoop::evaluate(RepeatedEvaluation& evaler) {
  finish_step();
  if (is_stopped()) return false;
  setup_.checkpointer.wait();  // an evaluation that ends the process must not cost the earlier save
  const auto start = Clock::now();
  const auto result = evaler.evaluate(
      *setup_.runtime, run_.state, [this] { return is_stopped(); }, run_.progress);
  if (!result) return false;
  StepRecord record{.step = run_.step, .split = evaler.name(), .values = result->metrics};
  record.values["eval_secs"] = seconds_since(start);
  record.values["wall_secs"] = run_.clock.wall_secs();
  run_.records->write(record);
  run_.progress.note(fmt::format("eval {} at step {}: {} in {:.1f} s", evaler.name(), run_.step,
                                 result->text, seconds_since(start)));
  if (const std::string bad = first_non_finite(result->metrics); !bad.empty()) {
    run_.progress.note(fmt::format("WARNING: eval {} at step {}: {} is not finite", evaler.name(),
                                   run_.step, bad));
  }
  setup_.evaluations.mark_done(evaler.name(), run_.step);
  run_.clock.skip();
  return true;
}

// Saves the state, if it is finite. With `wait`, returns true if it is saved.
bool TrainingLoop::save(bool wait) {
  finish_step();
  if (!is_finite_) return false;
  // Records go to disk before the checkpoint: a resumed run expects all records up to it.
  run_.records->flush();
  if (run_.step > run_.first_step) setup_.folder.update_config();
  run_.metadata.wall_secs = run_.clock.wall_secs();
  setup_.checkpointer.save(run_.step, run_.state.leaves, run_.state.arrays, to_tree(run_.metadata),
                           wait ? SaveMode::kBlocking : setup_.config.checkpointer.mode);
  run_.clock.skip();
  return wait && setup_.checkpointer.last_saved() == run_.step;
}

void TrainingLoop::save_at_end() {
  if (save(true)) return;
  run_.records->set_failing();
  throw StorageError(fmt::format(
      "{}: expected the final state of step {} to be saved, got {} failed saves; the "
      "last good checkpoint stays",
      setup_.checkpointer.root().string(), run_.step, setup_.checkpointer.num_failures()));
}

// Keeps the steps of a run that failed, if the state still exists.
void TrainingLoop::save_after_failure() noexcept try {
  const bool known = run_.records->set_failing();  // then everything that can be saved is saved
  if (known || run_.step == run_.first_step || setup_.folder.is_replaced()) return;
  std::string end = "which could not be saved";
  try {
    if (save(true)) end = "which is saved";
  } catch (const std::exception& error) {
    end += fmt::format(": {}", error.what());
  }
  run_.progress.note(fmt::format("the run failed after step {}, {}", run_.step, end));
} catch (const std::exception&) {  // no memory to tell it
}

Trainer::Trainer(const Config& config, RunOptions options)
    : setup_(std::make_unique<RunSetup>(config, std::move(options))) {}
Trainer::~Trainer() = default;

ExitCode Trainer::run() {
  const StopSignal signal;
  StartedRun run(*setup_);
  if (!run.has_work()) return ExitCode::kOk;
  run.compile([&] { return signal.requested() != ExitCode::kOk; });
  return TrainingLoop(run, signal).run();
}

AXLE_REGISTER(Trainer)

}  // namespace axle
