// Compares twenty updates of three parameters with AXLearn's numbers, for recorded gradients.

#include <gtest/gtest.h>

#include "io/safetensors.h"
#include "learn/adamw.h"
#include "learn/sgd.h"
#include "learn/test_program_test.h"
#include "testing/checkout.h"
#include "testing/host_tensors.h"

namespace axle {
namespace {

const std::string kFolder = reference_file("axlearn/numeric/optimizers/");
constexpr int kSteps = 20;

void agrees(const std::string& name, const Child<Optimizer>& config) {
  const std::string path = kFolder + name + ".safetensors";
  const SafetensorsFile file(path);
  HostTree params;
  for (const char* p : {"b", "g", "w"}) params[p] = file.get(std::string("init/") + p);

  const Tree<ParamSpec> specs = specs_of(params);
  const auto optimizer = config.build({specs}, {.path = "learner.optimizer"});
  HostTree state =
      run_trees([&](const auto& in) { return optimizer->initialize(in[0]); }, {params});
  int compared = 0;
  for (int32_t step = 0; step < kSteps; ++step) {
    HostTree gradients;
    for (const auto& [p, unused] : params) {
      gradients[p] = file.get("grad/" + std::to_string(step) + "/" + p);
    }
    const HostTree next = run_trees(
        [&](const std::vector<Tree<Tensor>>& in) {
          UpdateOutputs done = optimizer->update({in[0], in[1], in[2], in[3].at("step")});
          Tree<Tensor> out;
          for (const auto& [p, u] : done.updates) out["params/" + p] = in[1].at(p) + u;
          put_subtree(out, "state", done.state);
          return out;
        },
        {gradients, params, state, {{"step", HostTensor::scalar(step + 1)}}});
    params = subtree(next, "params");
    state = subtree(next, "state");
    for (const auto& [p, value] : params) {
      const std::string saved = "param/" + std::to_string(step) + "/" + p;
      if (!file.contains(saved)) continue;
      EXPECT_LT(testing::relative_difference(value, file.get(saved)), 1e-6) << saved;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 12);
}

TEST(OptimizerParity, AdamW) {
  agrees("adamw", AdamW::Config{.learning_rate = ConstantRate{.value = 1e-2}, .weight_decay = 0.1});
}

TEST(OptimizerParity, AdamWWithIndependentDecay) {
  agrees("adamw_decoupled",
         AdamW::Config{
             .learning_rate = ConstantRate{.value = 1e-2},
             .update_schedule = CosineWithWarmup{.peak = 1.0, .warmup_steps = 5, .max_step = 20},
             .b2 = 0.98,
             .eps = 1e-6,
             .weight_decay = 3e-3,
             .decay_factor = DecayFactor::kOne,
             .weight_decay_scales = {{"b", 0.0}}});
}

TEST(OptimizerParity, SgdWithMomentum) {
  agrees("sgd_momentum",
         Sgd::Config{
             .learning_rate = ConstantRate{.value = 1e-2}, .momentum = 0.9, .weight_decay = 1e-3});
}

}  // namespace
}  // namespace axle
