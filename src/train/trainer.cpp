#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/parallel.h"
#include "base/process_start.h"
#include "checkpoint/folder.h"
#include "checkpoint/restore.h"
#include "config/register.h"
#include "data/prefetcher.h"
#include "lower/stablehlo.h"
#include "pjrt/compile/saved_executable.h"
#include "runtime/host_needs.h"
#include "runtime/mesh_devices.h"
#include "runtime/named_arguments.h"
#include "train/device_memory.h"
#include "train/evaluation/evaluations.h"
#include "train/finite/non_finite_finder.h"
#include "train/folder/kept_schedules.h"
#include "train/folder/run_folder.h"
#include "train/folder/run_metadata.h"
#include "train/folder/run_notes.h"
#include "train/initial_state.h"
#include "train/programs.h"
#include "train/record/debug_prints.h"
#include "train/record/metric_values.h"
#include "train/record/metrics_log.h"
#include "train/record/progress.h"
#include "train/record/step_clock.h"
#include "train/record/text_metrics.h"
#include "train/record/throughput.h"
#include "train/run_memory.h"
#include "train/training_parts.h"
#include "transform/body.h"

namespace axle {
// A run under way. The members are declared in the order of their construction.
struct Trainer::Run {
  Run(const Config& config, RunOptions run_options);
  ExitCode loop();

 private:
  // A step whose metrics have not been read yet. The host reads metrics one step late, so that the
  // device never waits.
  struct Pending {
    int64_t step = 0, num_tokens = 0, num_targets = 0;
    Arrays metrics, prints;
    double num_bytes = 0;
    std::future<Clock::time_point> done_at;
  };

  std::future<std::unique_ptr<Input>> start_reading() const;
  void initialise_or_restore();
  bool has_checkpoint() const { return !checkpoint_steps(folder_.checkpoints()).empty(); }
  void warn(bool at_start);
  void open_writers();
  CompileOptions compile_options() const;
  std::vector<NamedProgram> compiled() const;
  std::vector<TracedProgram> traced() const;
  void compile(const StopCondition& stop);
  void measure_peak();
  void take_steps(const StopCondition& stop);
  void take_step(const Batch& batch);
  void finish_step();
  void report(Pending done);
  void evaluate(bool at_end, const StopCondition& stop);
  bool save(bool wait);
  void save_at_end();
  void save_after_failure() noexcept;
  void write(const StepRecord& record);
  void flush();
  void in_place(const std::function<void(SummaryWriter&)>& use);
  [[noreturn]] void fail_non_finite(int64_t step, const NonFiniteStep& bad);

  RunOptions options_;
  TrainingParts training_;
  const Config& cfg_;
  std::future<std::unique_ptr<Input>> reading_;  // opens the input while the devices are opened
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Input> input_;
  Mesh mesh_;
  ProgramParts parts_;
  std::vector<CollectedTap> debug_prints_;
  Program step_;
  DebugPrints prints_;
  Evaluations evaluations_;
  RunFolder folder_;
  std::unique_ptr<Executable> step_executable_;
  std::optional<NonFiniteFinder> finder_;
  std::optional<RunMemory> memory_;  // made before anything is allocated
  std::unique_ptr<Checkpointer> checkpointer_;
  DeviceState state_;
  std::future<Arrays> drawn_;  // initial state; computed while the programs are compiled
  int64_t step_number_ = 0, first_step_ = 0;
  std::string data_state_;
  bool data_restarted_ = false;
  std::vector<std::unique_ptr<SummaryWriter>> writers_;
  std::unique_ptr<Progress> progress_;
  std::optional<Pending> pending_;
  StepClock clock_;
  StepCost cost_;
  std::optional<LongWait> first_step_wait_;
  int64_t skipped_ = 0;       // steps that were not finite
  int64_t num_left_out_ = 0;  // documents left out
  bool failing_ = false;      // the run is ending with an error
  bool is_finite_ = true;     // false: the state is never saved
  std::string stopped_;       // what was not finite, if that ends the run
};

Trainer::Run::Run(const Config& config, RunOptions run_options)
    : options_(std::move(run_options)),
      training_(options_.keep_schedules && options_.resume
                    ? with_kept_schedules(config, options_.dir)
                    : config),
      cfg_(training_.config),
      reading_(start_reading()),
      runtime_(options_.open_runtime(
          {.backend = options_.backend,
           .num_devices = options_.num_devices.value_or(num_mesh_devices(cfg_.mesh))})),
      input_(std::make_unique<Prefetcher>(reading_.get(), 2)),
      mesh_(fit_mesh(cfg_.mesh, runtime_->topology(), options_.num_devices)),
      parts_(training_.program_parts(mesh_, input_->element_spec())),
      step_(step_program(parts_, &debug_prints_)),
      prints_(debug_prints_, step_.outputs.size()),
      evaluations_(training_, mesh_),
      folder_(options_.dir),
      checkpointer_(std::make_unique<Checkpointer>(cfg_.checkpointer, folder_.checkpoints())) {
  state_.leaves = train_state(*training_.model, *training_.learner);
  cost_.program_flops = region_flops(*step_.graph);
  if (options_.find_nan) step_ = without_donation(std::move(step_));  // the finder reads them again
}

// Checks the device counts and the host's memory, then starts to open the data.
std::future<std::unique_ptr<Input>> Trainer::Run::start_reading() const {
  if (options_.num_devices) check_device_count("--devices", *options_.num_devices);
  check_device_count("mesh", num_mesh_devices(cfg_.mesh));
  const auto state = train_state(*training_.model, *training_.learner);
  check_state_memory(state, options_.backend, options_.host_memory());
  return start_or_defer([this] { return training_.make_input(); });
}

void Trainer::Run::initialise_or_restore() {
  if (has_checkpoint() && !options_.resume) {
    throw ConfigError(fmt::format(
        "{}: holds checkpoints of an earlier run; use another --dir, or leave out --no-resume",
        folder_.dir().string()));
  }
  if (has_checkpoint()) {
    const auto check = [&](const CheckpointInfo& info) {
      Config scratch;
      RunMetadata saved = run_metadata(info);
      if (options_.keep_schedules) saved.config = with_written_ends(saved.config);
      folder_.check_same_config(saved, cfg_, scratch,
                                {.all = options_.force, .input = options_.restart_data});
      if (!options_.force && cfg_.on_non_finite == OnNonFinite::kStop) check_not_stopped(saved);
    };
    RestoredArrays restored =
        restore_arrays(folder_.checkpoints(), *runtime_, mesh_, state_.leaves, check).value();
    state_.arrays = std::move(restored.arrays);
    step_number_ = first_step_ = restored.step;
    checkpointer_->mark_restored(restored.step);
    const RunMetadata saved = run_metadata(restored);
    folder_.replace_lost_config(saved.config);
    skipped_ = saved.skipped_steps;
    clock_.add_earlier(saved.wall_secs);
    const auto [restarted, note] = restore_input(*input_, saved, options_.restart_data);
    data_restarted_ = restarted;
    progress_->note(fmt::format("resumed from step {}{}{}", step_number_, note,
                                options_.init.empty() ? "" : "; --init-from has no effect"));
    if (step_number_ < cfg_.max_steps) measure_peak();
    auto changes = schedule_jumps(saved.config, cfg_, step_number_);
    std::ranges::move(evaluations_.changed_data(saved.evaler_data), std::back_inserter(changes));
    for (const std::string& line : changes) progress_->note("WARNING: " + line);
  } else {
    data_restarted_ = options_.restart_data;
    measure_peak();
    auto given = initial_values(options_.init, *training_.model, cfg_.seed, *progress_);
    drawn_ = start_or_defer([this, given = std::move(given), how = compile_options()]() mutable {
      return initial_state(parts_, state_.leaves, cfg_.seed, std::move(given), *runtime_, how);
    });
  }
  data_state_ = input_->state();
  if (const std::string found = to_text(input_->facts()); !found.empty())
    progress_->note("data: " + found);
  for (const std::string& line : evaluations_.data_notes(input_->facts())) progress_->note(line);
  folder_.set_config(cfg_, cfg_.seed);
  folder_.begin(cfg_, !has_checkpoint(), input_->facts(), options_.init);
}

void Trainer::Run::warn(bool at_start) {
  const Skipped skipped = input_->facts().skipped;
  if (skipped.count > std::exchange(num_left_out_, skipped.count))
    progress_->note("WARNING: input: " + skipped_text(skipped));
  if (!at_start || (options_.keep_schedules && has_checkpoint())) return;
  for (const std::string& line : schedule_warnings(cfg_)) progress_->note("WARNING: " + line);
}

void Trainer::Run::open_writers() {
  const SummaryWriter::Dims dims{.dir = folder_.dir(),
                                 .restored_step = step_number_,
                                 .config = folder_.config_text(),
                                 .log_every = cfg_.log_every_steps};
  auto log = std::make_unique<MetricsLog>(dims);
  for (const std::string& name : log->evaluated()) evaluations_.mark_done(name, step_number_);
  writers_.push_back(std::move(log));
  for (const auto& [name, writer] : cfg_.writers)
    writers_.push_back(writer.build(dims, Scope{.path = "writers." + name}));
}

CompileOptions Trainer::Run::compile_options() const {
  return {.overrides = {cfg_.compiler_options.begin(), cfg_.compiler_options.end()},
          .cache_dir = options_.compile_cache};
}

// Returns the programs compiled so far, the step first.
std::vector<NamedProgram> Trainer::Run::compiled() const {
  std::vector<NamedProgram> out = evaluations_.compiled();
  if (step_executable_) out.insert(out.begin(), {"the step", step_executable_.get()});
  return out;
}

std::vector<TracedProgram> Trainer::Run::traced() const {
  std::vector<TracedProgram> out = evaluations_.traced();
  out.insert(out.begin(), {"the step", &step_});
  return out;
}

// Compiles all programs of the run, so that a program that fails does so before the first step.
void Trainer::Run::compile(const StopCondition& stop) {
  if (stop()) return;
  if (options_.find_nan) finder_.emplace(step_, *runtime_, compile_options());
  const double begun = secs_since_process_start();
  const auto compile_start = Clock::now();
  const bool saved = !options_.executable.empty();
  const std::string doing = saved ? "loading the step" : "compiling the step";
  progress_->note(doing);
  std::optional<LongWait> wait(std::in_place, *progress_, doing);
  step_executable_ = saved
                         ? load_executable(options_.executable, *runtime_, step_, compile_options())
                         : runtime_->compile(step_, compile_options());
  wait.reset();
  progress_->note(
      fmt::format("{} the step for {} device{} in {:.2f} s, started {:.2f} s after the program",
                  saved ? "loaded" : "compiled", mesh_.num_devices(),
                  mesh_.num_devices() == 1 ? "" : "s", seconds_since(compile_start), begun));
  const Topology& topology = runtime_->topology();
  check_device_memory(compiled(), topology);
  const std::string memory = device_memory_text(compiled().front(), topology);
  if (!memory.empty()) progress_->note(memory);
  evaluations_.compile(*runtime_, compile_options(), stop);
  check_device_memory(compiled(), topology);
}

// Measures the machine's peak. Call it while nothing else uses the processor.
void Trainer::Run::measure_peak() {
  for (const std::string& line :
       axle::measure_peak(parts_, cfg_, runtime_->topology(), *memory_, cost_))
    progress_->note(line);
}

ExitCode Trainer::Run::loop() {
  const StopSignal signal;
  const StopCondition stop = [&] { return signal.requested() != ExitCode::kOk; };
  clock_ = {};
  progress_ = std::make_unique<Progress>(cfg_.max_steps, cfg_.log_every_steps);
  memory_.emplace(cfg_, parts_, runtime_->topology().platform, options_.host_memory());
  memory_->check(traced());
  warn(/*at_start=*/true);
  initialise_or_restore();
  open_writers();
  if (first_step_ > 0 && first_step_ >= cfg_.max_steps) {
    const bool has_due = !evaluations_.due_evaluations(first_step_, /*at_end=*/true).empty();
    progress_->note(
        fmt::format("the run is at step {} of {}: {}; --steps counts from the beginning of the run",
                    first_step_, cfg_.max_steps,
                    has_due ? "only evaluations are left" : "nothing is left to do"));
    if (!has_due) return ExitCode::kOk;
  }
  compile(stop);
  memory_->check_compiled(traced(), compiled());
  if (drawn_.valid()) state_.arrays = drawn_.get();
  try {
    take_steps(stop);
    const ExitCode code = signal.requested();
    if (code != ExitCode::kOk && step_number_ == first_step_) {
      // The state is already in a checkpoint, or the seed gives the same initial state again.
      progress_->note(
          fmt::format("stopped by a signal before step {}, with nothing new to save; run the same "
                      "command to continue",
                      step_number_ + 1));
      folder_.keep();
      return code;
    }
    save_at_end();
    if (code == ExitCode::kOk) evaluate(/*at_end=*/true, stop);
    flush();
  } catch (...) {
    save_after_failure();
    throw;
  }
  warn(/*at_start=*/false);
  const ExitCode code = signal.requested();
  if (code != ExitCode::kOk)
    progress_->note(fmt::format(
        "stopped by a signal after step {}; run the same command to continue", step_number_));
  return code;
}

// Takes all remaining steps. First runs evaluations that an earlier start left undone. After a
// step, the save comes before the evaluations, so that a failing evaluation can't cost a step.
void Trainer::Run::take_steps(const StopCondition& stop) {
  clock_.skip();
  evaluate(/*at_end=*/false, stop);
  first_step_wait_.emplace(*progress_, fmt::format("step {}", step_number_ + 1),
                           cost_.least_step_secs());
  while (!stop() && step_number_ < cfg_.max_steps) {
    const auto batch = input_->next();
    if (!batch) {
      progress_->note(fmt::format("the data ended after step {}", step_number_));
      break;
    }
    take_step(*batch);
    if (checkpointer_->is_due(step_number_)) save(false);
    evaluate(/*at_end=*/false, stop);
  }
  finish_step();
  first_step_wait_.reset();
}

void Trainer::Run::take_step(const Batch& batch) {
  Arrays arguments = state_.arrays;  // keeps the arrays alive until the step has taken them over
  append_by_name(arguments, batch.tensors, step_, *runtime_);
  if (finder_) finder_->remember(arguments);
  Arrays outputs = step_executable_->execute(arguments);
  const std::span state(outputs.data(), state_.leaves.size());
  const std::span rest = std::span(outputs).subspan(state.size());
  const auto metrics = rest.first(rest.size() - prints_.size()), prints = rest.last(prints_.size());
  state_.arrays.assign(state.begin(), state.end());
  data_state_ = input_->state();
  ++step_number_;
  Pending started{.step = step_number_,
                  .num_tokens = num_real_positions(batch),
                  .num_targets = batch.num_targets,
                  .metrics = Arrays(metrics.begin(), metrics.end()),
                  .prints = Arrays(prints.begin(), prints.end()),
                  .num_bytes = batch.num_target_bytes,
                  .done_at = completion_of(outputs.back())};
  if (auto before = std::exchange(pending_, std::move(started))) report(std::move(*before));
  if (finder_) finish_step();  // the next step would replace the state that the finder needs
}

void Trainer::Run::finish_step() {
  if (auto done = std::exchange(pending_, std::nullopt)) report(std::move(*done));
}

// Waits for the metrics of a step, which are complete by now or soon, and reports them.
void Trainer::Run::report(Pending done) {
  StepRecord record{.step = done.step,
                    .values = metric_values(step_, state_.leaves.size(), done.metrics)};
  const Throughput speed = throughput_of(clock_.lap(done.done_at.get(), done.num_tokens), cost_);
  first_step_wait_.reset();
  const auto bad_part = static_cast<int64_t>(record.values.extract("not_finite").mapped());
  is_finite_ &= bad_part < 0;  // whatever ends the run
  add_text_metrics(record.values, done.num_targets, done.num_bytes);
  add_throughput(record.values, speed);
  record.values["wall_secs"] = clock_.wall_secs();
  if (num_left_out_ > 0) record.values["skipped_documents"] = static_cast<double>(num_left_out_);
  const bool skipped = record.values["skipped"] != 0;
  skipped_ += skipped;
  if (!skipped) record.values.erase("skipped");
  // Before the record: if it cannot be written, the state is saved with this reason.
  if (skipped && cfg_.on_non_finite == OnNonFinite::kStop && stopped_.empty())
    stopped_ = fmt::format("step {}: expected finite numbers", record.step);
  write(record);
  for (const std::string& line : prints_.lines(done.prints))
    progress_->note(fmt::format("step {}: {}", record.step, line));
  if ((skipped || bad_part >= 0) && !failing_) {
    const NonFiniteStep bad = non_finite_step(record, bad_part, record.step == first_step_ + 1,
                                              state_, folder_.checkpoints());
    if (bad.is_permanent || cfg_.on_non_finite == OnNonFinite::kStop || finder_)
      fail_non_finite(record.step, bad);
    progress_->note(
        fmt::format("step {}: not finite: {}; the state was kept, {} such step{} so far",
                    record.step, bad.what, skipped_, skipped_ == 1 ? "" : "s"));
  }
  progress_->step(record, speed);
}

void Trainer::Run::fail_non_finite(int64_t step, const NonFiniteStep& bad) {
  failing_ = true;  // the next step may be under way
  stopped_ = fmt::format("step {}: expected finite numbers, got {}", step, bad.what);
  const bool is_saved = !bad.is_permanent && save(true);
  if (finder_) finder_->report(step, is_saved, [&](const auto& line) { progress_->note(line); });
  const std::string how = how_to_continue(finder_.has_value(), cfg_.on_non_finite);
  throw Error(fmt::format("{}; the state {}", stopped_,
                          what_is_saved(is_saved, checkpointer_->last_saved(), how)),
              ExitCode::kValidationFailed);
}

// Runs the evaluations that are due; those of the last step run at the end, after its save.
void Trainer::Run::evaluate(bool at_end, const StopCondition& stop) {
  if (!at_end && (step_number_ == 0 || step_number_ >= cfg_.max_steps)) return;
  for (RepeatedEvaluation* evaler : evaluations_.due_evaluations(step_number_, at_end)) {
    finish_step();
    if (stop()) return;
    checkpointer_->wait();  // an evaluation that ends the process must not cost the earlier save
    const auto start = Clock::now();
    const auto result = evaler->evaluate(*runtime_, state_, stop, *progress_);
    if (!result) return;
    StepRecord record{.step = step_number_, .split = evaler->name(), .values = result->metrics};
    record.values["eval_secs"] = seconds_since(start);
    record.values["wall_secs"] = clock_.wall_secs();
    write(record);
    progress_->note(fmt::format("eval {} at step {}: {} in {:.1f} s", evaler->name(), step_number_,
                                result->text, seconds_since(start)));
    if (const std::string bad = first_non_finite(result->metrics); !bad.empty()) {
      progress_->note(fmt::format("WARNING: eval {} at step {}: {} is not finite", evaler->name(),
                                  step_number_, bad));
    }
    evaluations_.mark_done(evaler->name(), step_number_);
    clock_.skip();
  }
}

// Saves the state, if it is finite. With `wait`, returns true if it is saved.
bool Trainer::Run::save(bool wait) {
  finish_step();
  if (!is_finite_) return false;
  // Records go to disk before the checkpoint: a resumed run expects all records up to it.
  flush();
  if (step_number_ > first_step_) folder_.update_config();
  checkpointer_->save(step_number_, state_.leaves, state_.arrays,
                      to_tree({.config = folder_.config_text(),
                               .data = data_state_,
                               .evaler_data = evaluations_.data_states(),
                               .data_restarted = data_restarted_,
                               .skipped_steps = skipped_,
                               .wall_secs = clock_.wall_secs(),
                               .stopped = stopped_}),
                      wait ? SaveMode::kBlocking : cfg_.checkpointer.mode);
  clock_.skip();
  return wait && checkpointer_->last_saved() == step_number_;
}

void Trainer::Run::save_at_end() {
  if (save(true)) return;
  failing_ = true;
  throw StorageError(
      fmt::format("{}: expected the final state of step {} to be saved, got {} failed saves; the "
                  "last good checkpoint stays",
                  checkpointer_->root().string(), step_number_, checkpointer_->num_failures()));
}

// Keeps the steps of a run that failed, if the state still exists.
void Trainer::Run::save_after_failure() noexcept try {
  const bool known = std::exchange(failing_, true);  // then everything that can be saved is saved
  if (known || step_number_ == first_step_ || folder_.is_replaced()) return;
  std::string end = "which could not be saved";
  try {
    if (save(true)) end = "which is saved";
  } catch (const std::exception& error) {
    end += fmt::format(": {}", error.what());
  }
  progress_->note(fmt::format("the run failed after step {}, {}", step_number_, end));
} catch (const std::exception&) {  // no memory to tell it
}

void Trainer::Run::write(const StepRecord& record) {
  folder_.keep();
  in_place([&](SummaryWriter& writer) { writer.write(record); });
}

void Trainer::Run::flush() {
  in_place([](SummaryWriter& writer) { writer.flush(); });
}

// Applies `use` to all writers. Throws StorageError if the run's folder or files were taken away,
// which ends the run; while the run is ending, ignores it.
void Trainer::Run::in_place(const std::function<void(SummaryWriter&)>& use) {
  try {
    folder_.check_in_place();
    for (const auto& writer : writers_) use(*writer);
  } catch (const StorageError&) {
    if (!failing_) throw;
  }
}

Trainer::Trainer(const Config& config, RunOptions options)
    : run_(std::make_unique<Run>(config, std::move(options))) {}
Trainer::~Trainer() = default;
ExitCode Trainer::run() { return run_->loop(); }

AXLE_REGISTER(Trainer)

}  // namespace axle
