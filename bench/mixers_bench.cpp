// Times forward and backward of one mixer of mixers.h on the CPU plugin, and prints one line of
// JSON. bench/mixers.py runs it beside JAX.
//
//   mixers_bench MIXER [--steps N]
//   mixers_bench MIXER --shapes     prints the shapes of the parameters by path
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "bench_main.h"
#include "lower/trace_program.h"
#include "mixers.h"
#include "nn/functional.h"
#include "ops/elementwise/exponential.h"
#include "ops/reductions/reduce.h"
#include "peer_values.h"
#include "pjrt/make_runtime.h"
#include "transform/grad.h"

namespace axle {
namespace {

// Scales of norms are near 1, other parameters small.
HostTensor initial_value(uint32_t leaf, const std::string& path, const Shape& shape) {
  HostTensor out = uniform(leaf, shape, 0.1);
  if (path.ends_with("scale")) {
    for (float& value : out.values<float>()) value += 1;
  }
  return out;
}

void print_shapes(const Mixer& mixer) {
  nlohmann::ordered_json out;
  for (const auto& [path, spec] : mixer.param_specs()) out[path] = spec.shape;
  fmt::print("{}\n", out.dump());
}

void run(const std::string& name, Mixer& mixer, int64_t num_steps) {
  std::vector<std::string> paths;
  std::vector<HostTensor> arguments;
  for (const auto& [path, spec] : mixer.param_specs()) {
    arguments.push_back(initial_value(static_cast<uint32_t>(paths.size()), path, spec.shape));
    paths.push_back(path);
  }
  arguments.push_back(uniform(1000, {kMixerBatch, kMixerLength, kMixerDim}, 1));

  // The mean square of the result stands for what comes after the mixer.
  const auto loss = [&](const Values& x) {
    Tree<Tensor> parameters;
    for (size_t i = 0; i < paths.size(); ++i) parameters.emplace(paths[i], x[i]);
    const Tensor y = functional(mixer, std::move(parameters), {.summaries = false}, [&] {
                       return mixer(x.back(), MixerContext{});
                     }).first;
    return Values{mean(square(y))};
  };
  std::vector<ProgramValue> inputs, outputs{{.name = "loss", .type = {DType::kF32, {}}}};
  for (size_t i = 0; i < arguments.size(); ++i) {
    inputs.push_back({.name = fmt::format("x{}", i), .type = arguments[i].type()});
    outputs.push_back({.name = fmt::format("gradient{}", i), .type = arguments[i].type()});
  }
  const auto runtime = make_runtime({});
  const auto compile_start = Clock::now();
  const auto executable = runtime->compile(trace_program(
      name,
      [&](const Values& x) {
        auto [out, gradients] = value_and_grad(loss, x);
        out.insert(out.end(), gradients.begin(), gradients.end());
        return out;
      },
      inputs, outputs));
  const double compile_secs = seconds_since(compile_start);

  Arrays arrays;
  for (const HostTensor& value : arguments) arrays.push_back(runtime->make_array(value, {}, {}));
  std::vector<double> secs;
  double value = 0;
  for (int64_t i = 0; i <= num_steps; ++i) {
    const auto start = Clock::now();
    value = executable->execute(arrays)[0]->to_host().at(0);
    if (i > 0) secs.push_back(seconds_since(start));
  }
  const StepTimes times(std::move(secs));
  const nlohmann::ordered_json out = {{"peer", "axle"},
                                      {"mixer", name},
                                      {"compile_s", compile_secs},
                                      {"step_ms", times.median * 1e3},
                                      {"min_ms", times.least * 1e3},
                                      {"loss", value}};
  fmt::print("{}\n", out.dump());
}

}  // namespace
}  // namespace axle

int main(int argc, char** argv) {
  std::string name = "attention";
  int64_t num_steps = 10;
  bool shapes = false;
  const auto mixers = axle::bench_mixers();
  CLI::App app("Forward and backward of one mixer, timed.", "mixers_bench");
  app.add_option("MIXER", name)->check(CLI::IsMember(mixers));
  app.add_option("--steps", num_steps)->check(CLI::PositiveNumber);
  app.add_flag("--shapes", shapes, "print the shapes of the parameters and end");
  return axle::bench_main(app, argc, argv, [&] {
    const auto mixer = mixers.at(name).build({.model_dim = axle::kMixerDim}, axle::Scope{});
    if (shapes)
      axle::print_shapes(*mixer);
    else
      axle::run(name, *mixer, num_steps);
  });
}
