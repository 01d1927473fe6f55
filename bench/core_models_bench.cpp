// Compiles one of the models of core_models.h on the CPU plugin, takes steps and prints one line of
// JSON. bench/core_models.py runs it beside JAX.
//
//   core_models_bench [MODEL] [--steps N] [--text FILE] [--dump FILE]
//
//   --text  runs this StableHLO program in place of Axle's; inputs and results are the same
//   --dump  writes Axle's StableHLO program
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/process_start.h"
#include "bench_main.h"
#include "core_models.h"
#include "lower/stablehlo.h"
#include "peer_values.h"
#include "pjrt/pjrt_runtime.h"

namespace axle {
namespace {

struct Flags {
  std::string model = "mlp", text_file, dump_file;
  int64_t num_steps = 10;
};

// The state of the first step and the inputs, in the order of core_train_step.
std::vector<HostTensor> arguments_of(const CoreModel& model) {
  std::vector<HostTensor> out{HostTensor(Type{DType::kF32, {}})};
  uint32_t leaf = 0;
  for (const CoreWeight& w : model.weights) {
    out.push_back(w.bound == 0 ? HostTensor::ones(w.shape) : uniform(leaf, w.shape, w.bound));
    ++leaf;
  }
  for (int moment = 0; moment < 2; ++moment) {
    for (const CoreWeight& w : model.weights) out.push_back(HostTensor::zeros(w.shape));
  }
  for (const CoreInput& input : model.inputs) {
    if (input.high == 0) {
      out.push_back(uniform(leaf, input.type.dims, 1));
    } else {
      HostTensor ids(input.type);
      const auto values = ids.values<int32_t>();
      for (uint32_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<int32_t>(fraction(leaf, i) * static_cast<float>(input.high));
      out.push_back(std::move(ids));
    }
    ++leaf;
  }
  return out;
}

std::string contents(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

void run(const Flags& flags) {
  const CoreModel model = core_models().at(flags.model);
  const std::vector<HostTensor> arguments = arguments_of(model);
  const size_t num_state = 1 + 3 * model.weights.size();

  const auto trace_start = Clock::now();
  std::vector<ProgramValue> inputs, outputs{{.name = "loss", .type = {DType::kF32, {}}}};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Type& type = arguments[i].type();
    const bool is_state = i < num_state;
    inputs.push_back({.name = "x" + std::to_string(i),
                      .type = type,
                      .donated_to = is_state ? static_cast<int>(i + 1) : -1});
    if (is_state) outputs.push_back({.name = "y" + std::to_string(i), .type = type});
  }
  Program program = trace_program(
      flags.model, [&](const Values& x) { return core_train_step(model, x); }, inputs, outputs);
  const double trace_secs = seconds_since(trace_start);
  if (!flags.dump_file.empty()) std::ofstream(flags.dump_file) << program.text;
  if (!flags.text_file.empty()) program.text = contents(flags.text_file);

  const auto runtime = make_runtime({});
  const auto compile_start = Clock::now();
  const auto executable = runtime->compile(program);
  const double compile_secs = seconds_since(compile_start);

  Arrays state;
  for (const HostTensor& value : arguments) state.push_back(runtime->make_array(value, {}, {}));
  const Arrays data(state.begin() + static_cast<ptrdiff_t>(num_state), state.end());
  std::vector<double> losses, secs;
  for (int64_t i = 0; i <= flags.num_steps; ++i) {
    const auto start = Clock::now();
    Arrays results = executable->execute(state);
    losses.push_back(results[0]->to_host().at(0));
    if (i > 0) secs.push_back(seconds_since(start));
    state.assign(results.begin() + 1, results.end());
    state.insert(state.end(), data.begin(), data.end());
  }
  const StepTimes times(std::move(secs));
  const nlohmann::ordered_json out = {{"peer", "axle"},
                                      {"model", flags.model},
                                      {"trace_s", trace_secs},
                                      {"compile_s", compile_secs},
                                      {"step_ms", times.median * 1e3},
                                      {"min_ms", times.least * 1e3},
                                      {"first_loss", losses.front()},
                                      {"loss", losses.back()},
                                      {"version", runtime->topology().platform_version}};
  fmt::print("{}\n", out.dump());
}

}  // namespace
}  // namespace axle

int main(int argc, char** argv) {
  axle::Flags flags;
  CLI::App app("Train steps of a model of the tensor core, timed.", "core_models_bench");
  app.add_option("MODEL", flags.model)->check(CLI::IsMember(axle::core_models()));
  app.add_option("--steps", flags.num_steps)->check(CLI::PositiveNumber);
  app.add_option("--text", flags.text_file)->check(CLI::ExistingFile);
  app.add_option("--dump", flags.dump_file);
  return axle::bench_main(app, argc, argv, [&] { axle::run(flags); });
}
