// Benchmarks of the work before the compiler: from a recipe to the StableHLO of its train step, and
// from the start of the process to the first call of the compiler. The former needs no device.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <fstream>

#include "base/error.h"
#include "base/process_start.h"
#include "pjrt/pjrt_runtime.h"
#include "recipes/resolve/check_recipe.h"
#include "recipes/resolve/resolve.h"
#include "train/program/programs.h"

namespace axle {
namespace {

// A model, its learner and the inputs of a step, built as the trainer builds them.
struct Job {
  explicit Job(const Trainer::Config& cfg)
      : model(cfg.model.build({}, Scope{.path = "model"})),
        learner(cfg.learner.build({.params = model->param_specs(), .run_steps = *cfg.max_steps},
                                  Scope{.path = "learner"})),
        input(cfg.input.build({.vocab_size = model->vocab_size(), .seed = 0},
                              Scope{.path = "input"})),
        parts{.model = *model,
              .learner = learner.get(),
              .batch = input->element_spec(),
              .compute_dtype = cfg.compute_dtype} {}

  std::unique_ptr<Model> model;
  std::unique_ptr<Learner> learner;
  std::unique_ptr<Input> input;
  ProgramSpec parts;
};

Trainer::Config synthetic(const std::string& recipe) {
  return resolve_config(
             {.recipe = recipe, .edits = {UseData{"synthetic"}}, .machine = host_machine()})
      .config;
}

// Returns a field of /proc/self/status, in MB.
double status_mb(std::string_view field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field)) return std::stod(line.substr(field.size() + 1)) / 1024;
  }
  return 0;
}

// Returns the peak memory during `f` minus the memory in use before it, in MB.
template <class F>
double peak_growth_mb(F f) {
  std::ofstream("/proc/self/clear_refs") << "5" << std::flush;  // resets the peak
  const double before = status_mb("VmRSS");
  f();
  return status_mb("VmHWM") - before;
}

// Builds the modules, traces, differentiates and lowers.
void step_to_stablehlo(benchmark::State& state, const std::string& recipe) {
  const Trainer::Config cfg = synthetic(recipe);
  const size_t text_bytes = step_program(Job(cfg).parts).text.size();
  for (auto _ : state) benchmark::DoNotOptimize(step_program(Job(cfg).parts));
  state.counters["text_kb"] = static_cast<double>(text_bytes) / 1024;
}
BENCHMARK_CAPTURE(step_to_stablehlo, fuji_7B_v2, std::string("fuji-7B-v2"))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(step_to_stablehlo, fuji_1B_v3, std::string("fuji-1B-v3"))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(step_to_stablehlo, quickstart, std::string("quickstart"))
    ->Unit(benchmark::kMillisecond);

// Measures what `axle train` does up to its first call of the compiler. Must run before everything
// else: a process starts only once, and a used heap hides the memory that tracing needs.
std::string start_to_first_compile(const std::string& recipe) {
  try {
    const Job job(synthetic(recipe));
    const auto runtime = make_runtime({});
    const double peak_mb = peak_growth_mb([&] { step_program(job.parts); });
    return fmt::format("{:.0f} ms; tracing, differentiating and lowering took {:.1f} MB at most",
                       secs_since_process_start() * 1e3, peak_mb);
  } catch (const DeviceError& error) {
    return fmt::format("not measured: {}", error.what());
  }
}

}  // namespace
}  // namespace axle

int main(int argc, char** argv) {
  fmt::print("process start to first compile call, fuji-7B-v2: {}\n",
             axle::start_to_first_compile("fuji-7B-v2"));
  std::fflush(stdout);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
