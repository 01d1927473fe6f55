// Compares updates by recorded gradients with numbers of AXLearn, of optax, and of programs that
// follow the papers (tools/oracle/optimizer_numbers.py).

#include <gtest/gtest.h>

#include "io/safetensors.h"
#include "learn/learner.h"
#include "learn/optimizer.h"
#include "learn/optimizers/adafactor.h"
#include "learn/optimizers/adam.h"
#include "learn/optimizers/matrix_optimizers.h"
#include "learn/optimizers/optimizer_run_test.h"
#include "learn/optimizers/sgd.h"
#include "learn/optimizers/wrapping_optimizers.h"
#include "learn/schedule.h"
#include "learn/schedules/schedules.h"
#include "learn/transforms/gradient_transforms.h"
#include "learn/weight_decay.h"
#include "testing/checkout.h"
#include "testing/host_tensors.h"

namespace axle {
namespace {

const std::string kAxlearn = reference_file("axlearn/numeric/optimizers/");
const std::string kJax = reference_file("jax/optimizers/");

struct Case {
  std::string file;
  std::vector<std::string> params;
  int steps;
  Tree<FanAxes> fans = {};
};

// Makes the updates, each by `step(gradients)`, and compares the parameters of `params` where the
// file has some.
template <class Step>
void agrees(const Case& c, const SafetensorsFile& file, const HostTree& params, Step&& step) {
  int compared = 0;
  for (int i = 0; i < c.steps; ++i) {
    HostTree gradients;
    for (const std::string& p : c.params)
      gradients[p] = file.get("grad/" + std::to_string(i) + "/" + p);
    step(gradients);
    for (const auto& [p, value] : params) {
      const std::string saved = "param/" + std::to_string(i) + "/" + p;
      if (!file.contains(saved)) continue;
      EXPECT_LT(testing::relative_difference(value, file.get(saved)), 1e-6) << saved;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 12);
}

HostTree start(const Case& c, const SafetensorsFile& file) {
  HostTree out;
  for (const std::string& p : c.params) out[p] = file.get("init/" + p);
  return out;
}

void agrees(const Case& c, const Child<Optimizer>& config) {
  const std::string path = c.file + ".safetensors";
  const SafetensorsFile file(path);
  const HostTree params = start(c, file);
  Tree<ParamSpec> specs = specs_of(params);
  for (const auto& [p, fan] : c.fans) specs.at(p).fan = fan;
  OptimizerRun run(config, params, specs);
  agrees(c, file, run.params, [&](const HostTree& gradients) { run.step(gradients); });
}

Case axlearn(const std::string& name) { return {kAxlearn + name, {"b", "g", "w"}, 20}; }
// `s` counts as one parameter, as in optax.
Case optax(const std::string& name) { return {kJax + name, {"b", "s", "w"}, 10}; }
// `s` counts as two layers.
Case per_matrix(const std::string& name) {
  return {kJax + name, {"b", "s", "w"}, 10, {{"s", {.batch = {-3}}}}};
}

const Schedule kRate = ConstantRate{.value = 1e-2};

TEST(OptimizerParity, AdamW) {
  agrees(axlearn("adamw"), AdamW::Config{.learning_rate = kRate, .weight_decay = 0.1});
}

TEST(OptimizerParity, AdamWWithIndependentDecay) {
  agrees(axlearn("adamw_decoupled"),
         AdamW::Config{
             .learning_rate = kRate,
             .update_schedule = CosineWithWarmup{.peak = 1.0, .warmup_steps = 5, .max_step = 20},
             .b2 = 0.98,
             .eps = 1e-6,
             .weight_decay = 3e-3,
             .decay_factor = DecayFactor::kOne,
             .weight_decay_scales = {{"b", 0.0}}});
}

TEST(OptimizerParity, SgdWithMomentum) {
  agrees(axlearn("sgd_momentum"),
         Sgd::Config{.learning_rate = kRate, .momentum = 0.9, .weight_decay = 1e-3});
}

TEST(OptimizerParity, Adafactor) {
  agrees(axlearn("adafactor"), Adafactor::Config{.learning_rate = kRate,
                                                 .b1 = ConstantRate{.value = 0.9},
                                                 .step_size = StepSize::kRelative,
                                                 .unfactored = {"g"}});
}

TEST(OptimizerParity, AdamWithL2) {
  agrees(optax("adam_l2"), Adam::Config{.learning_rate = kRate, .l2 = 0.1});
}

TEST(OptimizerParity, Lion) {
  agrees(optax("lion"), Lion::Config{.learning_rate = kRate, .weight_decay = 0.1});
}

TEST(OptimizerParity, Lamb) {
  agrees(optax("lamb"), Lamb::Config{.learning_rate = kRate, .weight_decay = 0.1});
}

TEST(OptimizerParity, ScheduleFree) {
  agrees(optax("schedule_free"),
         ScheduleFree::Config{.inner = AdamW::Config{.learning_rate = kRate, .b1 = 0}});
}

TEST(OptimizerParity, Muon) {
  agrees(per_matrix("muon"), Muon::Config{.learning_rate = kRate,
                                          .weight_decay = 0.1,
                                          .others = AdamW::Config{.learning_rate = kRate}});
}

TEST(OptimizerParity, Soap) {
  agrees(per_matrix("soap"), Soap::Config{.learning_rate = kRate,
                                          .every_steps = 3,
                                          .others = AdamW::Config{.learning_rate = kRate}});
}

TEST(OptimizerParity, AdaStar) {
  agrees(per_matrix("adastar"),
         AdaStar::Config{.learning_rate = kRate,
                         .update_schedule = ConstantRate{.value = 0.5},
                         .gradient_mean = MovingMean{.decay = 0.9},
                         .square_mean = {.decay = 0.95},
                         .eps = 1e-4,
                         .eps_square = 1e-6,
                         .max_rms = 0.8,
                         .update_mean = MovingMean{.decay = 0.5, .debias = Debias::kNo},
                         .weight_decay = 3e-3});
}

// Compares a transform before SGD with momentum.
void transform_agrees(const std::string& name, const Child<GradientTransform>& config) {
  const Case c = optax(name);
  const std::string path = c.file + ".safetensors";
  const SafetensorsFile file(path);
  HostTree params = start(c, file);
  const Tree<ParamSpec> specs = specs_of(params);
  const Learner learner(
      {.optimizer = Sgd::Config{.learning_rate = kRate, .momentum = 0.9}, .transforms = {config}},
      {specs}, {.path = "learner"});
  HostTree state = run_trees([&](const auto& in) { return learner.initialize(in[0]); }, {params});
  agrees(c, file, params, [&](const HostTree& gradients) {
    const HostTree done = run_trees(
        [&](const std::vector<Tree<Tensor>>& in) {
          LearnerOutputs out = learner.apply({in[0], in[1], in[2]});
          Tree<Tensor> all;
          put_subtree(all, "params", std::move(out.params));
          put_subtree(all, "state", std::move(out.state));
          return all;
        },
        {params, gradients, state});
    params = subtree(done, "params");
    state = subtree(done, "state");
  });
}

TEST(TransformParity, TrustRatio) {
  transform_agrees("lars", TrustRatio::Config{.coefficient = 0.5});
}

TEST(TransformParity, ClipByBlockRms) {
  transform_agrees("block_rms", ClipByBlockRms::Config{.max_rms = 0.4});
}

}  // namespace
}  // namespace axle
