// Measures what the trainer's loop costs beside the program. The program computes next to nothing,
// but has as many parameter tensors and metrics as the quickstart recipe. The cost is the time of a
// whole step of a run minus the time of the same program executed bare: state in, state out,
// metrics read one step late.
//
//   loop_bench [STEPS]
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/process_start.h"
#include "config/set.h"
#include "ir/eval.h"
#include "ops/random/random.h"
#include "pjrt/pjrt_runtime.h"
#include "recipes/resolve/check_recipe.h"
#include "recipes/resolve/resolve.h"
#include "train/config/run_modules.h"

namespace axle {
namespace {

constexpr double kStepOfInterestMs = 50;

// Milliseconds per step, sorted, without the first steps, which warm up.
struct StepTimes {
  explicit StepTimes(const std::vector<double>& ends_secs) {
    for (size_t i = kWarmUp + 1; i < ends_secs.size(); ++i)
      ms.push_back((ends_secs[i] - ends_secs[i - 1]) * 1e3);
    std::ranges::sort(ms);
  }
  double at(double share) const {
    return ms.at(static_cast<size_t>(share * static_cast<double>(ms.size())));
  }
  double median() const { return at(0.5); }

  static constexpr size_t kWarmUp = 20;
  std::vector<double> ms;
};

Trainer::Config tiny_quickstart(int64_t num_steps) {
  Trainer::Config cfg =
      resolve_config(
          {.recipe = "quickstart", .edits = {UseData{"synthetic"}}, .machine = host_machine()})
          .config;
  set(cfg, "model.decoder.model_dim", "8");
  set(cfg, "input.batch_size", "1");
  set(cfg, "input.seq_len", "8");
  cfg.max_steps = num_steps;
  cfg.log_every_steps = num_steps;
  cfg.checkpointer.every_steps = num_steps;
  cfg.evalers.clear();
  return cfg;
}

StepTimes trained(const Trainer::Config& cfg) {
  const std::filesystem::path dir =
      std::filesystem::temp_directory_path() / fmt::format("axle_loop_bench_{}", ::getpid());
  std::filesystem::remove_all(dir);
  Trainer(cfg, {.dir = dir}).run();
  std::vector<double> ends;
  std::ifstream file(dir / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto record = nlohmann::json::parse(line);
    if (record.contains("wall_secs")) ends.push_back(record.at("wall_secs"));
  }
  std::filesystem::remove_all(dir);
  return StepTimes(ends);
}

StepTimes bare(const Trainer::Config& cfg) {
  const RunModules built(cfg);
  const auto input = built.make_input();
  const ProgramSpec parts = built.program_spec({}, input->element_spec());
  const auto runtime = make_runtime({});
  const auto executable = runtime->compile(step_program(parts));
  Arrays state, batch;
  for (const HostTensor& value :
       evaluate(*init_program(parts).graph, {random::key_words(cfg.seed)}))
    state.push_back(runtime->make_array(value, {}, {}));
  const Batch first = input->next().value();
  for (const auto& [name, value] : first.tensors)
    batch.push_back(runtime->make_array(value, {}, {}));

  const auto start = Clock::now();
  const auto num_leaves = static_cast<std::ptrdiff_t>(state.size());
  std::vector<double> ends;
  Arrays metrics;
  for (int64_t step = 0; step < cfg.max_steps; ++step) {
    Arrays arguments = std::move(state);
    arguments.insert(arguments.end(), batch.begin(), batch.end());
    const Arrays outputs = executable->execute(arguments);
    state.assign(outputs.begin(), outputs.begin() + num_leaves);
    for (const ArrayPtr& metric : metrics) metric->to_host();
    metrics.assign(outputs.begin() + num_leaves, outputs.end());
    ends.push_back(seconds_since(start));
  }
  return StepTimes(ends);
}

void print(std::string_view what, const StepTimes& times) {
  fmt::print("{:<24} median {:.3f} ms per step, middle 90 % {:.3f}..{:.3f}\n", what, times.median(),
             times.at(0.05), times.at(0.95));
}

void run(int64_t num_steps) {
  const Trainer::Config cfg = tiny_quickstart(num_steps);
  const StepTimes program = bare(cfg), loop = trained(cfg);
  print("the program alone:", program);
  print("the trainer's steps:", loop);
  const double own = loop.median() - program.median();
  fmt::print("the loop itself:         {:.3f} ms per step, {:.2f} % of a step of {} ms\n", own,
             100 * own / kStepOfInterestMs, kStepOfInterestMs);
}

}  // namespace
}  // namespace axle

int main(int argc, char** argv) {
  const bool has_steps = argc > 1 && std::isdigit(static_cast<unsigned char>(argv[1][0]));
  try {
    axle::run(has_steps ? std::stoll(argv[1]) : 1000);
  } catch (const axle::Error& error) {
    std::cerr << "loop_bench: " << error.what() << "\n";
    return 1;
  }
}
