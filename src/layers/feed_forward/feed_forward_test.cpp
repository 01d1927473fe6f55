#include "layers/feed_forward/feed_forward.h"

#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;

const FeedForward::Config kGated{.hidden_dim = FixedDim{6}, .gate = Linear::Config{.bias = false}};

AXLE_LAYER_LAWS(FeedForward, {.model_dim = 4},
                {{"plain", {.hidden_dim = FixedDim{6}}}, {"gated", kGated}})

double silu_of(double x) { return x / (1 + std::exp(-x)); }

TEST(FeedForward, GateMultipliesTheUpProjection) {
  auto layer = build_for_test<FeedForward>(kGated, {.model_dim = 2});
  layer.set("up/weight", HostTensor::ones({2, 6}))
      .set("gate/weight", HostTensor::ones({2, 6}))
      .set("down/weight", HostTensor::ones({6, 2}));
  const HostTensor y = layer.run(HostTensor({1, 1, 2}, {1.0f, 2.0f}));
  EXPECT_ALLCLOSE(y, HostTensor::full({1, 1, 2}, 6 * silu_of(3.0) * 3.0));
}

TEST(FeedForward, HiddenDimMustBePositive) {
  EXPECT_ERROR(build_for_test<FeedForward>({.hidden_dim = FixedDim{0}}, {.model_dim = 2}),
               "feed_forward.hidden_dim.dim: expected an integer of at least 1, got 0");
}

TEST(FeedForward, SummaryCountsDeadUnits) {
  auto layer = build_for_test<FeedForward>(
      {.hidden_dim = FixedDim{4}, .activation = {"relu", &relu}}, {.model_dim = 1});
  layer.set("up/weight", HostTensor({1, 4}, {1.0f, -1.0f, 2.0f, 3.0f}));
  EXPECT_ALLCLOSE(
      layer.call({{"x", HostTensor::ones({1, 1, 1})}}).summaries.at("feed_forward/dead_units"),
      HostTensor::scalar(0.25f));
}

TEST(ScaledDim, RoundsUpToAMultiple) {
  EXPECT_EQ((ScaledDim{.scale = 8.0 / 3, .multiple_of = 256})(4096), 11008);
  EXPECT_EQ(ScaledDim{}(96), 384);
}

}  // namespace
}  // namespace axle
