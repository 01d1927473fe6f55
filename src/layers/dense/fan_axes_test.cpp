// The initial values of weights have the variance that their layer's inputs and outputs ask for:
// stacked, grouped, and split into heads.
#include <gtest/gtest.h>

#include "layers/attention/qkv/head_projection.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/convolution/convolution.h"
#include "layers/dense/linear.h"
#include "nn/init_rules.h"
#include "testing/test_layer.h"

namespace axle {
namespace {

// Expects weights of the layer to be uniform with variance 1 / fan: values up to sqrt(3 / fan), and
// some close to it.
template <class L>
void expect_fans(const typename L::Config& cfg, const typename L::Role::Dims& dims,
                 const std::string& weight, double fan_in, double fan_out) {
  const auto expect = [&](const Init& init, double fan) {
    testing::TestLayer<L> layer(cfg, dims, {.init = init});
    const std::string path = join_path(layer.layer().path(), weight);
    const HostTensor x = testing::initial_parameters(layer.layer(), 3).at(path);
    double largest = 0, squares = 0;
    for (int64_t i = 0; i < x.size(); ++i) {
      largest = std::max(largest, std::abs(x.at(i)));
      squares += x.at(i) * x.at(i);
    }
    const double bound = std::sqrt(3 / fan);
    EXPECT_LE(largest, bound * (1 + 1e-6)) << path;
    EXPECT_GE(largest, bound * 0.99) << path;
    EXPECT_NEAR(squares / static_cast<double>(x.size()) * fan, 1, 0.05) << path;
  };
  expect(VarianceScaling{.fan = Fan::kIn}, fan_in);
  expect(VarianceScaling{.fan = Fan::kOut}, fan_out);
  expect(VarianceScaling{}, (fan_in + fan_out) / 2);
}

TEST(FanAxes, CountInputsAndOutputs) {
  expect_fans<Linear>({}, {.input_dim = 60, .output_dim = 90}, "weight", 60, 90);
  expect_fans<MultiLinear>({}, {.input_dim = 60, .num_outputs = 4, .output_dim = 30}, "weight", 60,
                           120);
}

TEST(FanAxes, CountTheHeads) {
  const HeadDims dims{.model_dim = 60, .num_heads = 4, .head_dim = 20};
  expect_fans<HeadInputLinear>({}, dims, "weight", 60, 80);
  expect_fans<HeadOutputLinear>({}, dims, "weight", 80, 60);
}

// The window is the receptive field of both sides.
TEST(FanAxes, CountTheWindow) {
  expect_fans<Conv1D>({.window = 5}, {.input_dim = 20, .output_dim = 40}, "weight", 100, 200);
  expect_fans<Conv2D>({.window = {3, 2}}, {.input_dim = 20, .output_dim = 40}, "weight", 120, 240);
}

// An output of a convolution in groups sees the inputs of one group. Without InitPerGroup, the fan
// out counts the outputs of all groups.
TEST(FanAxes, FansOfGroupsNeedAnInitialiserPerGroup) {
  const Conv1D::Config cfg{.window = 5, .num_groups = 4};
  const ConvolutionLayer::Dims dims{.input_dim = 40, .output_dim = 80};
  expect_fans<Conv1D>(cfg, dims, "weight", 50, 400);
  const auto spec_text = [&](const Init& init) {
    testing::TestLayer<Conv1D> layer(cfg, dims, {.init = init});
    return testing::initial_parameters(layer.layer(), 3).at("conv1_d/weight");
  };
  const HostTensor x =
      spec_text(InitPerGroup{.num_groups = 4, .init = VarianceScaling{.fan = Fan::kOut}});
  double largest = 0;
  for (int64_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x.at(i)));
  EXPECT_NEAR(largest, std::sqrt(3.0 / 100), 2e-3);
}

TEST(FanAxes, DoNotCountTheLayersOfALoop) {
  const PreNorm::Config block{.body = FeedForward::Config{.hidden_dim = FixedDim{90}}};
  expect_fans<Repeat>({.num_layers = 7, .layer = block}, {.model_dim = 60}, "layer/body/up/weight",
                      60, 90);
}

}  // namespace
}  // namespace axle
