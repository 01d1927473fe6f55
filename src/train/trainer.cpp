#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "checkpoint/folder.h"
#include "checkpoint/restore.h"
#include "config/register.h"
#include "data/prefetcher.h"
#include "ir/eval.h"
#include "ops/random.h"
#include "runtime/machine_peak.h"
#include "runtime/runtime.h"
#include "runtime/saved_executable.h"
#include "train/device_state.h"
#include "train/metrics_log.h"
#include "train/programs.h"
#include "train/progress.h"
#include "train/run_folder.h"
#include "train/stop_signal.h"
#include "train/training_parts.h"
#include "transform/body.h"

namespace axle {
namespace {

// As the options say, else as many as the mesh names.
int64_t num_devices(const Trainer::Config& config, const RunOptions& options) {
  if (options.num_devices) return *options.num_devices;
  const bool inferred =
      std::ranges::any_of(config.mesh.axes, [](const MeshAxis& a) { return a.size < 0; });
  return inferred ? 1 : config.mesh.num_devices();
}

}  // namespace

// A run under way. Members are in the order of their construction.
struct Trainer::Run {
  Run(const Config& config, RunOptions run_options);
  ExitCode loop();

 private:
  // A step whose metrics have not been read yet: reading lags one step behind, so that the device
  // never waits.
  struct Pending {
    int64_t step = 0;
    Arrays metrics;
    int64_t num_tokens = 0;
  };

  void initialise();
  void initialise_or_restore();
  void open_writers();
  CompileOptions compile_options() const;
  void compile();
  ExitCode take_steps(const StopSignal& signal);
  void take_step(const Batch& batch);
  void finish_step();
  void report(const Pending& done);
  void run_evaler(const std::string& name, const Evaler::Config& evaler);
  void evaluate_due();
  bool save(bool wait);
  void write(const StepRecord& record);
  [[noreturn]] void fail_non_finite(const StepRecord& record);

  RunOptions options_;
  TrainingParts training_;
  const Config& cfg_;
  std::unique_ptr<Input> input_;
  std::unique_ptr<Runtime> runtime_;
  Mesh mesh_;
  ProgramParts parts_;
  Program step_;
  RunFolder folder_;
  std::unique_ptr<Executable> step_executable_;
  Program eval_;
  std::unique_ptr<Executable> eval_executable_;  // compiled when the first evaluation is due
  std::unique_ptr<Checkpointer> checkpointer_;
  DeviceState state_;
  int64_t step_number_ = 0;
  std::map<std::string, int64_t> evaluated_at_;  // the step of each evaler's last evaluation
  std::string data_state_;
  std::vector<std::unique_ptr<SummaryWriter>> writers_;
  std::unique_ptr<Progress> progress_;

  std::optional<Pending> pending_;
  Clock::time_point start_, last_finish_;
  double flops_per_step_ = 0, peak_flops_ = 0;
  int64_t skipped_ = 0;
  bool failing_ = false;  // the run is ending by an error
};

Trainer::Run::Run(const Config& config, RunOptions run_options)
    : options_(std::move(run_options)),
      training_(config),
      cfg_(training_.config),
      input_(std::make_unique<Prefetcher>(training_.make_input(), 2)),
      runtime_(
          make_runtime({.backend = options_.backend, .num_devices = num_devices(cfg_, options_)})),
      mesh_(infer_mesh(cfg_.mesh, static_cast<int64_t>(runtime_->topology().devices.size()))),
      parts_(training_.programs(mesh_, input_->element_spec())),
      step_(step_program(parts_)),
      folder_(options_.dir),
      checkpointer_(std::make_unique<Checkpointer>(cfg_.checkpointer, folder_.checkpoints())) {
  if (cfg_.max_steps < 0)
    throw ConfigError(fmt::format("max_steps: must be at least 0, got {}", *cfg_.max_steps));
  state_.leaves = train_state(*training_.model, *training_.learner);
  flops_per_step_ = region_flops(*step_.graph);
}

// Compiling the program of the initial draws takes longer than interpreting it, unless the model is
// large.
void Trainer::Run::initialise() {
  constexpr int64_t kLarge = 1'000'000'000;
  int64_t num_elements = 0;
  for (const ProgramValue& leaf : state_.leaves) num_elements += leaf.type.num_elements();
  const Program init = init_program(parts_);
  if (num_elements >= kLarge) {
    const ArrayPtr key = runtime_->make_array(random::key(cfg_.seed), {}, mesh_);
    state_.arrays = runtime_->compile(init, compile_options())->execute({&key, 1});
    return;
  }
  const std::vector<HostTensor> values = evaluate(*init.graph, {random::key(cfg_.seed)});
  for (size_t i = 0; i < values.size(); ++i) {
    state_.arrays.push_back(runtime_->make_array(values[i], state_.leaves[i].sharding, mesh_));
  }
}

void Trainer::Run::initialise_or_restore() {
  const bool has_checkpoint = !checkpoint_steps(folder_.checkpoints()).empty();
  if (has_checkpoint && !options_.resume) {
    throw ConfigError(fmt::format(
        "{}: holds checkpoints of an earlier run; take another --dir, or leave out --no-resume",
        folder_.dir().string()));
  }
  if (has_checkpoint) {
    Config scratch;
    folder_.check_same_config(cfg_, scratch, options_.force);
    RestoredArrays restored =
        restore_arrays(folder_.checkpoints(), *runtime_, mesh_, state_.leaves).value();
    state_.arrays = std::move(restored.arrays);
    step_number_ = restored.step;
    data_state_ = restored.metadata.at("data");
    skipped_ = std::stoll(restored.metadata.at("skipped_steps"));
    input_->restore(data_state_);
    progress_->note(fmt::format("resumed from step {}", step_number_));
  } else {
    initialise();
    data_state_ = input_->state();
  }
  folder_.write_config(cfg_, cfg_.seed);
}

void Trainer::Run::open_writers() {
  const SummaryWriter::Dims dims{.dir = folder_.dir(), .restored_step = step_number_};
  writers_.push_back(std::make_unique<MetricsLog>(MetricsLog::Config{}, dims, Scope{}));
  for (const auto& [name, writer] : cfg_.writers)
    writers_.push_back(writer.build(dims, Scope{.path = "writers." + name}));
}

CompileOptions Trainer::Run::compile_options() const {
  return {.overrides = {cfg_.compiler_options.begin(), cfg_.compiler_options.end()},
          .cache_dir = options_.compile_cache};
}

void Trainer::Run::compile() {
  peak_flops_ = peak_flops(runtime_->topology(), cfg_.compute_dtype.value_or(DType::kF32));
  const auto compile_start = Clock::now();
  const bool saved = !options_.executable.empty();
  step_executable_ = saved
                         ? load_executable(options_.executable, *runtime_, step_, compile_options())
                         : runtime_->compile(step_, compile_options());
  progress_->note(fmt::format("{} the step for {} device{} in {:.1f} s, {:.2f} s after the start",
                              saved ? "loaded" : "compiled", mesh_.num_devices(),
                              mesh_.num_devices() == 1 ? "" : "s", seconds_since(compile_start),
                              seconds_since(start_)));
}

ExitCode Trainer::Run::loop() {
  const StopSignal signal;
  start_ = Clock::now();
  progress_ = std::make_unique<Progress>(cfg_.max_steps, cfg_.log_every_steps);
  initialise_or_restore();
  open_writers();
  if (signal.requested() == ExitCode::kOk) compile();
  const int64_t first_step = step_number_;
  ExitCode code = ExitCode::kOk;
  try {
    code = take_steps(signal);
  } catch (const DataError&) {
    failing_ = true;
    if (step_number_ > first_step && save(true))
      progress_->note(fmt::format("the data failed after step {}, which is saved", step_number_));
    throw;
  }
  if (code != ExitCode::kOk && step_number_ == first_step) {
    // A checkpoint is there already, or the seed gives the same initial state again.
    progress_->note(
        fmt::format("stopped by a signal before step {}, with nothing new to save; run the same "
                    "command to go on",
                    step_number_ + 1));
    folder_.keep();
    return code;
  }
  if (!save(true)) {
    throw StorageError(
        fmt::format("{}: expected to save the state of step {} at the end, got {} failed saves; "
                    "the last good checkpoint stays",
                    checkpointer_->root().string(), step_number_, checkpointer_->num_failures()));
  }
  if (code != ExitCode::kOk)
    progress_->note(fmt::format("stopped by a signal after step {}; run the same command to go on",
                                step_number_));
  return code;
}

// All that are left, with the evaluations among and behind them.
ExitCode Trainer::Run::take_steps(const StopSignal& signal) {
  last_finish_ = Clock::now();
  ExitCode code = ExitCode::kOk;
  while ((code = signal.requested()) == ExitCode::kOk && step_number_ < cfg_.max_steps) {
    const auto batch = input_->next();
    if (!batch) {
      progress_->note(fmt::format("the data ended after step {}", step_number_));
      break;
    }
    take_step(*batch);
    evaluate_due();
    if (checkpointer_->due(step_number_)) save(false);
  }
  finish_step();
  if (code != ExitCode::kOk) return code;
  for (const auto& [name, evaler] : cfg_.evalers) {
    if (!evaluated_at_.contains(name) || evaluated_at_.at(name) != step_number_)
      run_evaler(name, evaler);
  }
  return code;
}

void Trainer::Run::take_step(const Batch& batch) {
  Arrays arguments = std::move(state_.arrays);
  for (const auto& [name, value] : batch.tensors) {
    const PartitionSpec& sharding = step_.inputs[arguments.size()].sharding;
    arguments.push_back(runtime_->make_array(value, sharding, mesh_));
  }
  Arrays outputs = step_executable_->execute(arguments);
  const auto num_leaves = static_cast<std::ptrdiff_t>(state_.leaves.size());
  state_.arrays.assign(outputs.begin(), outputs.begin() + num_leaves);
  data_state_ = input_->state();
  ++step_number_;
  const std::optional<Pending> before = std::exchange(
      pending_, Pending{step_number_, Arrays(outputs.begin() + num_leaves, outputs.end()),
                        batch.num_targets});
  if (before) report(*before);
}

void Trainer::Run::finish_step() {
  if (const auto done = std::exchange(pending_, std::nullopt)) report(*done);
}

// Waits for the metrics of a step, which is done by now or soon.
void Trainer::Run::report(const Pending& done) {
  StepRecord record{.step = done.step};
  for (size_t i = 0; i < done.metrics.size(); ++i) {
    const std::string& name = step_.outputs[state_.leaves.size() + i].name;
    const HostTensor value = done.metrics[i]->to_host();
    if (value.size() == 1) {
      record.values[name] = value.at(0);
    } else {
      for (int64_t j = 0; j < value.size(); ++j)
        record.values[fmt::format("{}/{}", name, j)] = value.at(j);
    }
  }
  const double secs = seconds_since(last_finish_);
  last_finish_ = Clock::now();
  Throughput speed{.tokens_per_sec = static_cast<double>(done.num_tokens) / secs,
                   .step_secs = secs};
  if (peak_flops_ > 0) speed.mfu = flops_per_step_ / secs / peak_flops_;
  record.values["tokens_per_sec"] = speed.tokens_per_sec;
  record.values["mfu"] = speed.mfu;
  record.values["wall_secs"] = seconds_since(start_);
  const bool skipped = record.values["skipped"] != 0;
  if (!skipped) record.values.erase("skipped");
  write(record);
  if (skipped) {
    ++skipped_;
    if (cfg_.on_non_finite == NonFinite::kStop && !failing_) fail_non_finite(record);
    progress_->note(
        fmt::format("step {}: loss or gradient is not finite (loss {}, gradient norm {}); the "
                    "state was kept, {} such steps so far",
                    record.step, record.values["loss"], record.values["grad_norm"], skipped_));
  }
  progress_->step(record, speed);
}

void Trainer::Run::fail_non_finite(const StepRecord& record) {
  failing_ = true;  // the step after it may be under way
  const bool saved = save(true);
  throw Error(
      fmt::format("step {}: expected a finite loss and gradient, got loss {} and gradient norm {}; "
                  "{} (on_non_finite=skip goes on)",
                  record.step, record.values.at("loss"), record.values.at("grad_norm"),
                  saved ? "a state without that step is saved" : "the state could not be saved"),
      ExitCode::kValidationFailed);
}

void Trainer::Run::evaluate_due() {
  for (const auto& [name, evaler] : cfg_.evalers) {
    if (evaler.every_steps && step_number_ % *evaler.every_steps == 0) {
      finish_step();
      run_evaler(name, evaler);
    }
  }
}

void Trainer::Run::run_evaler(const std::string& name, const Evaler::Config& evaler) {
  const auto eval_start = Clock::now();
  const auto input =
      evaler.input.build(training_.input_dims, Scope{.path = "evalers." + name + ".input"});
  const ProgramParts parts = training_.programs(mesh_, input->element_spec());
  Program program = eval_program(parts);
  if (program.text != eval_.text) {
    eval_executable_ = runtime_->compile(program, compile_options());
    eval_ = std::move(program);
  }
  const EvalResult result =
      evaluate_input(*input, *eval_executable_, eval_, *runtime_, state_.below("model"));
  write({.step = step_number_, .split = name, .values = result.metrics});
  std::string line =
      fmt::format("eval {} at step {}: loss {:.4f}", name, step_number_, result.metrics.at("loss"));
  if (const auto it = result.metrics.find("bits_per_byte"); it != result.metrics.end()) {
    line += fmt::format(", {:.3f} bits per byte (entropy of the text's bytes: {:.3f})", it->second,
                        result.byte_entropy_bits);
  }
  progress_->note(line + fmt::format(", {} targets in {:.1f} s", result.num_targets,
                                     seconds_since(eval_start)));
  evaluated_at_[name] = step_number_;
  last_finish_ = Clock::now();
}

// True if the state is known to be saved, for which only a waiting call stays.
bool Trainer::Run::save(bool wait) {
  finish_step();
  // Before the checkpoint: a run that goes on from it must find the records up to it.
  for (const auto& writer : writers_) writer->flush();
  checkpointer_->save(step_number_, state_.leaves, state_.arrays,
                      {{"data", data_state_}, {"skipped_steps", std::to_string(skipped_)}});
  const bool saved = wait && checkpointer_->last_saved() == step_number_;
  last_finish_ = Clock::now();
  return saved;
}

void Trainer::Run::write(const StepRecord& record) {
  folder_.keep();
  for (const auto& writer : writers_) writer->write(record);
}

Trainer::Trainer(const Config& config, RunOptions options) {
  run_ = std::make_unique<Run>(config, std::move(options));
}
Trainer::~Trainer() = default;
ExitCode Trainer::run() { return run_->loop(); }

std::string to_text(NonFinite v) { return v == NonFinite::kStop ? "stop" : "skip"; }
void from_text(std::string_view text, NonFinite& v) {
  if (text != "stop" && text != "skip")
    throw ConfigError(fmt::format("expected stop or skip, got '{}'", text));
  v = text == "stop" ? NonFinite::kStop : NonFinite::kSkip;
}

Trainer::Config recipe(std::string_view name) {
  return function_named<Trainer::Config()>(name, "recipe")();
}
std::vector<std::string> recipe_names() { return names_of(typeid(Trainer::Config())); }

AXLE_REGISTER(Trainer)

}  // namespace axle
