#include "train/run_setup.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "base/process_start.h"
#include "checkpoint/folder.h"
#include "checkpoint/restore.h"
#include "data/prefetcher.h"
#include "lower/stablehlo.h"
#include "pjrt/saved_executable.h"
#include "runtime/mesh_devices.h"
#include "train/folder/schedules.h"
#include "train/program/initial_state.h"
#include "train/program/model_flops.h"
#include "train/record/metrics_log.h"
#include "transform/bodies.h"

namespace axle {
namespace {

// Checks the device counts and the host's memory, then starts to open the data.
std::future<std::unique_ptr<Input>> start_reading(const RunModules& modules,
                                                  const RunOptions& options) {
  if (options.num_devices) check_device_count("--devices", *options.num_devices);
  check_device_count("mesh", num_mesh_devices(modules.config.mesh));
  const auto state = train_state(*modules.model, *modules.learner);
  check_state_memory(state, options.backend, options.host_memory());
  return start_or_defer([&modules] { return modules.make_input(); });
}

Trainer::Config resumed_config(const Trainer::Config& config, const RunOptions& options) {
  return options.keep_schedules && options.resume ? with_kept_schedules(config, options.dir)
                                                  : config;
}

// The step as it runs. A finder of NaN reads the arguments again.
Program traced_step(const ProgramSpec& spec, bool find_nan, std::vector<CollectedTap>& taps) {
  Program step = step_program(spec, &taps);
  return find_nan ? without_donation(std::move(step)) : step;
}

}  // namespace

RunSetup::RunSetup(const Trainer::Config& given, RunOptions run_options)
    : options(std::move(run_options)),
      modules(resumed_config(given, options)),
      config(modules.config),
      reading(start_reading(modules, options)),
      runtime(options.open_runtime(
          {.backend = options.backend,
           .num_devices = options.num_devices.value_or(num_mesh_devices(config.mesh))})),
      input(std::make_unique<Prefetcher>(reading.get(), 2)),
      mesh(fit_mesh(config.mesh, runtime->topology(), options.num_devices)),
      spec(modules.program_spec(mesh, input->element_spec())),
      step(traced_step(spec, options.find_nan, taps)),
      prints(taps, step.outputs.size()),
      evaluations(config.evalers, config.task_evalers, modules.evaluated_on(mesh)),
      folder(options.dir),
      checkpointer(config.checkpointer, folder.checkpoints()) {}

bool RunSetup::has_checkpoint() const { return !checkpoint_steps(folder.checkpoints()).empty(); }

CompileOptions RunSetup::compile_options() const {
  return {.overrides = {config.compiler_options.begin(), config.compiler_options.end()},
          .cache_dir = options.compile_cache};
}

std::vector<TracedProgram> RunSetup::traced() const {
  std::vector<TracedProgram> out = evaluations.traced();
  out.insert(out.begin(), {"the step", &step});
  return out;
}

RunRecords::RunRecords(const Trainer::Config& config, RunFolder& folder, int64_t restored_step)
    : folder_(folder) {
  const SummaryWriter::Dims dims{.dir = folder.dir(),
                                 .restored_step = restored_step,
                                 .config = folder.config_text(),
                                 .log_every = config.log_every_steps};
  auto log = std::make_unique<MetricsLog>(dims);
  evaluated_ = log->evaluated();
  writers_.push_back(std::move(log));
  for (const auto& [name, writer] : config.writers)
    writers_.push_back(writer.build(dims, Scope{.path = "writers." + name}));
}

template <class Fn>
void RunRecords::in_place(const Fn& use) {
  try {
    folder_.check_in_place();
    for (const auto& writer : writers_) use(*writer);
  } catch (const StorageError&) {
    if (!is_failing_) throw;
  }
}

void RunRecords::write(const StepRecord& record) {
  folder_.keep();
  in_place([&](SummaryWriter& writer) { writer.write(record); });
}

void RunRecords::flush() {
  in_place([](SummaryWriter& writer) { writer.flush(); });
}

StartedRun::StartedRun(RunSetup& run_setup)
    : setup(run_setup),
      progress(setup.config.max_steps, setup.config.log_every_steps),
      memory(setup.config, setup.spec, setup.runtime->topology().platform,
             setup.options.host_memory()) {
  const Trainer::Config& config = setup.config;
  const RunOptions& options = setup.options;
  memory.check(setup.traced());
  state.leaves = train_state(*setup.modules.model, *setup.modules.learner);
  cost.program_flops = region_flops(*setup.step.graph);
  tell_left_out();
  const bool resumes = setup.has_checkpoint();
  if (!options.keep_schedules || !resumes) {
    for (const std::string& line : schedule_warnings(config)) progress.note("WARNING: " + line);
  }
  if (resumes && !options.resume) {
    throw ConfigError(fmt::format(
        "{}: holds checkpoints of an earlier run; use another --dir, or leave out --no-resume",
        setup.folder.dir().string()));
  }
  if (resumes)
    restore();
  else
    draw();
  const InputFacts facts = setup.input->facts();
  if (const std::string found = to_text(facts); !found.empty()) progress.note("data: " + found);
  for (const std::string& line : setup.evaluations.data_notes(facts)) progress.note(line);
  setup.folder.set_config(config, config.seed);
  setup.folder.begin(config, !resumes, facts, options.init);
  metadata.config = setup.folder.config_text();
  metadata.data = setup.input->state();
  metadata.evaler_data = setup.evaluations.data_states();
  records.emplace(config, setup.folder, step);
  for (const std::string& name : records->evaluated()) setup.evaluations.mark_done(name, step);
}

void StartedRun::restore() {
  const Trainer::Config& config = setup.config;
  const RunOptions& options = setup.options;
  RunFolder& folder = setup.folder;
  const auto check = [&](const CheckpointInfo& info) {
    Trainer::Config scratch;
    RunMetadata saved = run_metadata(info);
    if (options.keep_schedules) saved.config = with_written_ends(saved.config);
    folder.check_same_config(saved, config, scratch,
                             {.all = options.force, .input = options.restart_data});
    if (!options.force && config.on_non_finite == OnNonFinite::kStop) check_not_stopped(saved);
  };
  RestoredArrays restored =
      restore_arrays(folder.checkpoints(), *setup.runtime, setup.mesh, state.leaves, check).value();
  state.arrays = std::move(restored.arrays);
  step = first_step = restored.step;
  setup.checkpointer.mark_restored(restored.step);
  const RunMetadata saved = run_metadata(restored);
  folder.replace_lost_config(saved.config);
  metadata.skipped_steps = saved.skipped_steps;
  clock.add_earlier(saved.wall_secs);
  const auto [restarted, note] = restore_input(*setup.input, saved, options.restart_data);
  metadata.data_restarted = restarted;
  progress.note(fmt::format("resumed from step {}{}{}", step, note,
                            options.init.empty() ? "" : "; --init-from has no effect"));
  if (step < config.max_steps) measure();
  std::vector<std::string> changes = schedule_jumps(saved.config, config, step);
  std::ranges::move(setup.evaluations.changed_data(saved.evaler_data), std::back_inserter(changes));
  for (const std::string& line : changes) progress.note("WARNING: " + line);
}

void StartedRun::draw() {
  metadata.data_restarted = setup.options.restart_data;
  measure();
  auto given =
      initial_values(setup.options.init, *setup.modules.model, setup.config.seed, progress);
  drawn = start_or_defer([this, given = std::move(given), how = setup.compile_options()]() mutable {
    return initial_state(setup.spec, state.leaves, setup.config.seed, std::move(given),
                         *setup.runtime, how);
  });
}

// Measures the machine's peak. Call it while nothing else uses the processor.
void StartedRun::measure() {
  const RowsThatFit fit = [&](int64_t rows) { return memory.rows_that_fit(rows); };
  for (const std::string& line :
       measure_peak(setup.spec, setup.config, setup.runtime->topology(), fit, cost))
    progress.note(line);
}

void StartedRun::tell_left_out() {
  const Skipped skipped = setup.input->facts().skipped;
  if (skipped.count > std::exchange(num_left_out, skipped.count))
    progress.note("WARNING: input: " + skipped_text(skipped));
}

bool StartedRun::has_work() {
  const int64_t max_steps = setup.config.max_steps;
  if (first_step == 0 || first_step < max_steps) return true;
  const bool has_due = !setup.evaluations.due_evaluations(first_step, /*at_end=*/true).empty();
  progress.note(fmt::format(
      "the run is at step {} of {}: {}; --steps counts from the beginning of the run", first_step,
      max_steps, has_due ? "only evaluations are left" : "nothing is left to do"));
  return has_due;
}

// Returns the programs compiled so far, the step first.
std::vector<NamedProgram> StartedRun::compiled() const {
  std::vector<NamedProgram> out = setup.evaluations.compiled();
  if (executable) out.insert(out.begin(), {"the step", executable.get()});
  return out;
}

void StartedRun::compile(const StopCondition& stop) {
  if (!stop()) {
    compile_step();
    const Topology& topology = setup.runtime->topology();
    check_device_memory(compiled(), topology);
    const std::string needed = device_memory_text(compiled().front(), topology);
    if (!needed.empty()) progress.note(needed);
    setup.evaluations.compile(*setup.runtime, setup.compile_options(), stop);
    check_device_memory(compiled(), topology);
  }
  memory.check_compiled(setup.traced(), compiled());
  if (drawn.valid()) state.arrays = drawn.get();
}

void StartedRun::compile_step() {
  const RunOptions& options = setup.options;
  Runtime& runtime = *setup.runtime;
  if (options.find_nan) finder.emplace(setup.step, runtime, setup.compile_options());
  const double begun = secs_since_process_start();
  const auto start = Clock::now();
  const bool saved = !options.executable.empty();
  const std::string doing = saved ? "loading the step" : "compiling the step";
  progress.note(doing);
  std::optional<LongWait> wait(std::in_place, progress, doing);
  executable =
      saved ? load_executable(options.executable, runtime, setup.step, setup.compile_options())
            : runtime.compile(setup.step, setup.compile_options());
  wait.reset();
  progress.note(
      fmt::format("{} the step for {} device{} in {:.2f} s, started {:.2f} s after the program",
                  saved ? "loaded" : "compiled", setup.mesh.num_devices(),
                  setup.mesh.num_devices() == 1 ? "" : "s", seconds_since(start), begun));
}

}  // namespace axle
