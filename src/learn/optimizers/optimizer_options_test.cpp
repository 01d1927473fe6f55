// Options of optimizers that no recipe sets: each changes the update as its comment says.

#include <gmock/gmock.h>

#include "learn/optimizers/adafactor.h"
#include "learn/optimizers/adam.h"
#include "learn/optimizers/matrix_optimizers.h"
#include "learn/optimizers/optimizer_run_test.h"
#include "learn/optimizers/sgd.h"
#include "learn/optimizers/wrapping_optimizers.h"
#include "learn/schedules/schedules.h"
#include "testing/host_tensors.h"

namespace axle {
namespace {

constexpr ConstantRate kRate{.value = 0.1};
const AdamW::Config kAdamW{.learning_rate = kRate};

HostTree initial_params() {
  return {{"b", wave({4}, 0)}, {"w", wave({6, 3}, 10)}, {"u", wave({5, 3}, 20)}};
}
HostTree gradients(int step) {
  return {{"b", wave({4}, step)}, {"w", wave({6, 3}, step + 30)}, {"u", wave({5, 3}, step + 60)}};
}

// Returns the parameters after some updates.
HostTree after(const Child<Optimizer>& config, int num_steps) {
  OptimizerRun run(config, initial_params());
  for (int i = 0; i < num_steps; ++i) run.step(gradients(i));
  return run.params;
}

TEST(OptimizerOptions, ExcludedParametersAreUpdatedByOthers) {
  const HostTree by_adamw = after(kAdamW, 3);
  const std::map<std::string, Child<Optimizer>> configs = {
      {"Muon", Muon::Config{.learning_rate = kRate, .exclude = {"w"}, .others = kAdamW}},
      {"Soap", Soap::Config{.learning_rate = kRate, .exclude = {"w"}, .others = kAdamW}}};
  for (const auto& [name, config] : configs) {
    const HostTree got = after(config, 3);
    EXPECT_EQ(got.at("w"), by_adamw.at("w")) << name;
    EXPECT_EQ(got.at("b"), by_adamw.at("b")) << name;
    EXPECT_GT(testing::relative_difference(got.at("u"), by_adamw.at("u")), 0.001) << name;
  }
}

// Without bases, SOAP is Adam with the same decays.
TEST(OptimizerOptions, SidesOverMaxDimHaveNoBasis) {
  const auto soap = [](int64_t max_dim) {
    return Soap::Config{.learning_rate = kRate,
                        .b1 = 0.9,
                        .b2 = 0.95,
                        .every_steps = 1,
                        .max_dim = max_dim,
                        .weight_decay = 0,
                        .others = kAdamW};
  };
  const HostTree by_adam = after(Adam::Config{.learning_rate = kRate, .b1 = 0.9, .b2 = 0.95}, 4);
  EXPECT_LT(testing::relative_difference(after(soap(2), 4).at("w"), by_adam.at("w")), 1e-6);
  EXPECT_GT(testing::relative_difference(after(soap(3), 4).at("w"), by_adam.at("w")), 1e-3)
      << "the side of 3 has a basis";
  EXPECT_EQ(OptimizerRun(soap(3), initial_params()).state.count("right_basis/w") +
                OptimizerRun(soap(3), initial_params()).state.count("left_basis/w"),
            1u);
}

TEST(OptimizerOptions, BasisDecayWeighsNewGradients) {
  OptimizerRun run(Soap::Config{.learning_rate = kRate, .basis_decay = 0.75, .others = kAdamW},
                   initial_params());
  run.step(gradients(0));
  const std::vector<double> g = doubles(gradients(0).at("w")),
                            right = doubles(run.state.at("right/w"));
  for (size_t j = 0; j < 3; ++j) {
    double sum = 0;
    for (size_t i = 0; i < 6; ++i) sum += g[3 * i + j] * g[3 * i];
    EXPECT_NEAR(right[3 * j], 0.25 * sum, 1e-5) << j;
  }
}

// The average of z weighs each iterate by rate^weight_power.
TEST(OptimizerOptions, WeightPowerWeighsIteratesByTheLearningRate) {
  const auto run = [](double power) {
    return after(
        ScheduleFree::Config{.inner = Sgd::Config{.learning_rate = Polynomial{.begin_value = 0.1,
                                                                              .end_step = 4,
                                                                              .end_value = 0.4}},
                             .weight_power = power},
        3);
  };
  const std::vector<double> x = doubles(initial_params().at("b"));
  for (const double power : {0.0, 1.0}) {
    const std::vector<double> got = doubles(run(power).at("b"));
    for (size_t i = 0; i < got.size(); ++i) {
      double z = x[i], sum = 0, weights = 0;
      for (int step = 0; step < 3; ++step) {
        const double rate = 0.1 + 0.3 * (step + 1) / 4, weight = std::pow(rate, power);
        z -= rate * doubles(gradients(step).at("b"))[i];
        sum += weight * z;
        weights += weight;
      }
      EXPECT_NEAR(got[i], sum / weights, 1e-5) << power;
    }
  }
}

TEST(OptimizerOptions, L2ScalesApplyToTheNamedParameters) {
  OptimizerRun run(
      Adam::Config{.learning_rate = kRate, .l2 = 0.1, .l2_scales = {{"w", 0}, {"u", 2}}},
      initial_params());
  run.step({{"b", HostTensor(Type{DType::kF32, {4}})},
            {"w", HostTensor(Type{DType::kF32, {6, 3}})},
            {"u", HostTensor(Type{DType::kF32, {5, 3}})}});
  EXPECT_EQ(run.params.at("w"), initial_params().at("w"));
  EXPECT_NE(run.params.at("b"), initial_params().at("b"));
  EXPECT_NEAR(doubles(run.state.at("m/u"))[0] / doubles(initial_params().at("u"))[0],
              2 * doubles(run.state.at("m/b"))[0] / doubles(initial_params().at("b"))[0], 1e-6);
}

TEST(OptimizerOptions, AdafactorWithoutFactorsKeepsWholeMoments) {
  const OptimizerRun whole(Adafactor::Config{.learning_rate = kRate, .unfactored = {"**"}},
                           initial_params());
  const OptimizerRun factored(Adafactor::Config{.learning_rate = kRate}, initial_params());
  EXPECT_EQ(whole.state.at("v/w").shape(), (Shape{6, 3}));
  EXPECT_EQ(
      factored.state.at("v_over_rows/w").size() + factored.state.at("v_over_columns/w").size(), 9);
  EXPECT_FALSE(factored.state.contains("v/w"));
}

}  // namespace
}  // namespace axle
