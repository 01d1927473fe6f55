// What the trainer's loop costs beside the program: whole steps of a run whose program computes
// next to nothing, with as many parameters and metrics as the quickstart recipe has. An upper
// bound: the program's own time is still in it.
//
//   loop_bench [STEPS]
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/set.h"
#include "recipes/resolve.h"

namespace axle {
namespace {

constexpr double kStepOfInterestMs = 50;

// Milliseconds between the lines of metrics.jsonl, sorted; the first steps, which warm up, are left
// out.
std::vector<double> step_times_ms(const std::filesystem::path& metrics) {
  std::vector<double> times;
  std::ifstream file(metrics);
  double last_secs = 0;
  int64_t num_lines = 0;
  for (std::string line; std::getline(file, line);) {
    const auto record = nlohmann::json::parse(line);
    if (!record.contains("wall_secs")) continue;
    const double secs = record.at("wall_secs");
    if (++num_lines > 20) times.push_back((secs - last_secs) * 1e3);
    last_secs = secs;
  }
  std::ranges::sort(times);
  return times;
}

void run(int64_t num_steps) {
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
  const std::filesystem::path dir =
      std::filesystem::temp_directory_path() / fmt::format("axle_loop_bench_{}", ::getpid());
  std::filesystem::remove_all(dir);
  Trainer(cfg, {.dir = dir}).run();
  const std::vector<double> times = step_times_ms(dir / "metrics.jsonl");
  std::filesystem::remove_all(dir);
  const double median = times.at(times.size() / 2);
  fmt::print(
      "{} steps: median {:.3f} ms, middle 90 % {:.3f}..{:.3f} ms a step, the tiny program "
      "included; {:.2f} % of a step of {} ms\n",
      num_steps, median, times[times.size() / 20], times[times.size() * 19 / 20],
      100 * median / kStepOfInterestMs, kStepOfInterestMs);
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
