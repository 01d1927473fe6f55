// Times forward and backward of one mixer of mixers.h on the CPU plugin, and prints one line of
// JSON. bench/mixers.py runs it beside JAX.
//
//   mixers_bench MIXER [--steps N]
//   mixers_bench MIXER --shapes     prints the shapes of the parameters by path
#include <fmt/format.h>

#include "mixers.h"
#include "nn/functional.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"
#include "peer_values.h"
#include "time_gradients.h"

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
  nlohmann::ordered_json out = {{"peer", "axle"}, {"mixer", name}};
  out.update(time_gradients(name, loss, arguments, num_steps));
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
