#include "learn/optimizers/sophia.h"

#include <gmock/gmock.h>

#include "learn/optimizers/optimizer_run_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

const HostTree kStart = {{"w", wave({4}, 0)}};
const HostTree kTarget = {{"w", wave({4}, 7)}};
const HostTree kCurvature = {{"w", HostTensor({4}, {0.1f, 1.0f, 4.0f, 0.0f})}};

Sophia::Config config() {
  return {.learning_rate = ConstantRate{.value = 0.1},
          .b1 = 0.9,
          .b2 = 0.8,
          .gamma = 0.5,
          .every_steps = 3,
          .weight_decay = 0.2};
}

// The paper's algorithm in f64, with the curvature that the objective reports.
TEST(Sophia, FollowsThePaper) {
  OptimizerRun run(config(), kStart);
  std::vector<double> p = doubles(kStart.at("w")), m(4), h(4);
  const std::vector<double> target = doubles(kTarget.at("w")), a = doubles(kCurvature.at("w"));
  for (int step = 1; step <= 8; ++step) {
    run.step(Quadratic(kCurvature, kTarget));
    for (size_t i = 0; i < 4; ++i) {
      m[i] = 0.9 * m[i] + 0.1 * a[i] * (p[i] - target[i]);
      if (step % 3 == 1) h[i] = 0.8 * h[i] + 0.2 * a[i];
      const double u = std::clamp(m[i] / std::max(0.5 * h[i], 1e-12), -1.0, 1.0);
      p[i] -= 0.1 * (u + 0.2 * p[i]);
      EXPECT_NEAR(run.params.at("w").at(static_cast<int64_t>(i)), p[i], 1e-5) << step;
      EXPECT_NEAR(run.state.at("h/w").at(static_cast<int64_t>(i)), h[i], 1e-5) << step;
    }
  }
}

// The mean of u * (H u) over many draws is the diagonal of H.
TEST(Sophia, HutchinsonsEstimateIsUnbiased) {
  Sophia::Config hutchinson = config();
  hutchinson.every_steps = 1;
  hutchinson.b2 = 0.999;
  hutchinson.curvature = Curvature::kHutchinson;
  OptimizerRun run(hutchinson, kStart);
  constexpr int kDraws = 2000;
  for (int i = 0; i < kDraws; ++i) run.step(Quadratic(kCurvature, kTarget));
  const double weight = 1 - std::pow(0.999, kDraws);
  for (int64_t i = 0; i < 4; ++i) {
    const double a = kCurvature.at("w").at(i);
    EXPECT_NEAR(run.state.at("h/w").at(i) / weight, a, 0.2 * a + 1e-9) << i;
  }
}

TEST(Sophia, NeedsAnObjective) {
  OptimizerRun run(config(), kStart);
  EXPECT_EQ(error_of<ConfigError>([&] { run.step(kTarget); }),
            "optimizer: expected an objective to evaluate again, got gradients alone; use it in "
            "training");
}

}  // namespace
}  // namespace axle
