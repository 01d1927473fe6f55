#include "layers/experts/dispatch.h"
#include "layers/experts/moe.h"
#include "layers/experts/router.h"
#include "testing/test_layer.h"

namespace axle {
namespace {

using testing::build_for_test;

const AdaptiveLossScale::Config kConfig{
    .max_overload = 0.2, .min_overload = 0.1, .log_step = 0.5, .min_weight = 0.25};

// Calls the layer once with each of these overloads, and returns its last result and state.
testing::LayerResult after(const AdaptiveLossScale::Config& cfg,
                           const std::vector<HostTensor>& dropped, bool training = true) {
  auto layer = build_for_test<AdaptiveLossScale>(cfg, {});
  testing::LayerResult out;
  for (const HostTensor& d : dropped)
    out = layer.call({{"dropped", d}}, {.training = training, .state = out.state});
  return out;
}
HostTensor overload(float share) { return HostTensor({1}, {share}); }

TEST(AdaptiveLossScale, GrowsAboveTheRangeAndShrinksBelow) {
  EXPECT_ALLCLOSE(after(kConfig, {overload(0.3f)}).outputs[0], HostTensor::scalar(std::exp(0.5f)));
  EXPECT_ALLCLOSE(after(kConfig, {overload(0.3f), overload(0.3f)}).outputs[0],
                  HostTensor::scalar(std::exp(1.0f)));
  EXPECT_ALLCLOSE(after(kConfig, {overload(0.15f)}).outputs[0], HostTensor::scalar(1.0f));
  EXPECT_ALLCLOSE(after(kConfig, {overload(0.0f)}).outputs[0], HostTensor::scalar(std::exp(-0.5f)));
}

// The average is that of all batches at first; later the newest has a weight of min_weight.
TEST(AdaptiveLossScale, FollowsAMovingAverage) {
  std::vector<HostTensor> seen;
  double average = 0;
  for (int i = 0; i < 6; ++i) {
    const float value = i % 2 == 0 ? 0.5f : 0.1f;
    seen.push_back(overload(value));
    const double weight = std::max(0.25, 1.0 / (i + 1));
    average += weight * (static_cast<double>(value) - average);
    const auto result = after(kConfig, seen);
    EXPECT_NEAR(result.state.at("adaptive_loss_scale/average").at(0), average, 1e-6);
    EXPECT_EQ(result.state.at("adaptive_loss_scale/count").at(0), i + 1);
    EXPECT_NEAR(result.summaries.at("adaptive_loss_scale/overload").at(0), average, 1e-6);
  }
}

TEST(AdaptiveLossScale, OverloadIsTheMeanOrTheLargest) {
  const HostTensor dropped({2}, {0.05f, 0.25f});
  AdaptiveLossScale::Config cfg = kConfig;
  EXPECT_NEAR(after(cfg, {dropped}).summaries.at("adaptive_loss_scale/overload").at(0), 0.15, 1e-6);
  cfg.overload = Overload::kLargest;
  EXPECT_NEAR(after(cfg, {dropped}).summaries.at("adaptive_loss_scale/overload").at(0), 0.25, 1e-6);
}

TEST(AdaptiveLossScale, EvaluationChangesNoState) {
  EXPECT_TRUE(after(kConfig, {overload(0.3f)}, /*training=*/false).state.empty());
}

TEST(AdaptiveLossScale, ScalesOnlyTheLoadBalanceLoss) {
  MoE::Config cfg{.num_experts = 4,
                  .dispatch = CapacityDispatch::Config{.train_capacity_factor = 0.5},
                  .hidden_dim = FixedDim{4}};
  auto plain = build_for_test<MoE>(cfg, {.model_dim = 4});
  cfg.adaptive_load_balance = kConfig;
  auto adaptive = build_for_test<MoE>(cfg, {.model_dim = 4});
  const Tree<HostTensor> x = {{"x", testing::normal_values({2, 8, 4}, 1)}};
  const auto without = plain.call(x, {.training = true}),
             with = adaptive.call(x, {.training = true});
  EXPECT_EQ(with.outputs[0], without.outputs[0]);
  EXPECT_EQ(with.aux_losses.at("mo_e/z"), without.aux_losses.at("mo_e/z"));
  EXPECT_NEAR(with.aux_losses.at("mo_e/load_balance").at(0),
              without.aux_losses.at("mo_e/load_balance").at(0) * std::exp(0.5), 1e-6);
}

}  // namespace
}  // namespace axle
