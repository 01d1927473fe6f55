// Tests of Conv1D, Conv2D and their paddings.
#include "layers/convolution/convolution.h"

#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

const ExplicitPadding kUneven{.dims = {{.low = 2, .high = 1}}};

AXLE_LAYER_LAWS(Conv1D, {.input_dim = 4, .output_dim = 6, .output_axes = "model"},
                {{"same", {.window = 3, .padding = SamePadding{}}},
                 {"causal", {.window = 3, .dilation = 2, .padding = CausalPadding{}}},
                 {"depthwise",
                  {.window = 2,
                   .padding = ExplicitPadding{.dims = {{.low = 1}}},
                   .num_groups = 2,
                   .bias = false}},
                 {"pointwise", {.window = 1}},
                 {"strided", {.window = 3, .stride = 2, .padding = kUneven}}})
AXLE_LAYER_LAWS(Conv2D, {.input_dim = 2, .output_dim = 4, .num_spatial_dims = 2},
                {{"same", {.window = {3, 2}, .strides = {2, 1}, .padding = SamePadding{}}},
                 {"groups", {.window = {2, 2}, .dilation = {1, 2}, .num_groups = 2, .bias = false}},
                 {"causal", {.window = {3, 3}, .padding = CausalPadding{}}}})

std::vector<std::pair<int64_t, int64_t>> pads(const ConvolutionPadding& padding,
                                              const SlidingWindow& windows) {
  std::vector<std::pair<int64_t, int64_t>> out;
  for (const DimPadding& p : padding(windows)) out.emplace_back(p.low, p.high);
  return out;
}
using Pads = std::vector<std::pair<int64_t, int64_t>>;

TEST(ConvolutionPadding, PadsMatchItsRule) {
  const SlidingWindow plain{{.size = 5, .stride = 2}}, odd{{.size = 4}},
      dilated{{.size = 5, .stride = 2, .window_dilation = 2}};
  EXPECT_EQ(pads(ValidPadding{}, plain), (Pads{{0, 0}}));
  EXPECT_EQ(pads(SamePadding{}, plain), (Pads{{2, 2}}));
  EXPECT_EQ(pads(SamePadding{}, odd), (Pads{{1, 2}}));
  EXPECT_EQ(pads(SamePadding{}, dilated), (Pads{{4, 4}}));
  EXPECT_EQ(pads(CausalPadding{}, plain), (Pads{{3, 1}}));
  EXPECT_EQ(pads(CausalPadding{}, dilated), (Pads{{7, 1}}));
  EXPECT_EQ(pads(kUneven, plain), (Pads{{2, 1}}));
  const SlidingWindow two{{.size = 3, .stride = 2}, {.size = 3, .stride = 2}};
  EXPECT_EQ(pads(CausalPadding{}, two), (Pads{{1, 1}, {1, 1}}));
}

// Returns the convolution of x[B, T, I] by its definition.
HostTensor by_definition(const HostTensor& x, const HostTensor& weight, const HostTensor& bias,
                         const Conv1D::Config& cfg) {
  const int64_t stride = cfg.stride, dilation = cfg.dilation, groups = cfg.num_groups;
  const auto padding =
      cfg.padding({{.size = cfg.window, .stride = stride, .window_dilation = dilation}})[0];
  const int64_t batch = x.shape()[0], length = x.shape()[1], features = x.shape()[2];
  const int64_t window = weight.shape()[0], own = weight.shape()[1], outs = weight.shape()[2];
  const int64_t count =
      (length + padding.low + padding.high - (window - 1) * dilation - 1) / stride + 1;
  HostTensor y(Type{DType::kF32, {batch, count, outs}});
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t s = 0; s < count; ++s) {
      for (int64_t o = 0; o < outs; ++o) {
        double sum = bias.at(o);
        for (int64_t k = 0; k < window; ++k) {
          const int64_t t = s * stride + k * dilation - padding.low;
          if (t < 0 || t >= length) continue;
          for (int64_t i = 0; i < own; ++i) {
            const int64_t from = o / (outs / groups) * own + i;
            sum += x.at((b * length + t) * features + from) * weight.at((k * own + i) * outs + o);
          }
        }
        y.values<float>()[(b * count + s) * outs + o] = static_cast<float>(sum);
      }
    }
  }
  return y;
}

TEST(Conv1D, IsTheSumOverItsWindow) {
  const HostTensor x = normal_values({2, 7, 4}, 1);
  for (const ConvolutionPadding& padding :
       {ConvolutionPadding(ValidPadding{}), ConvolutionPadding(SamePadding{}),
        ConvolutionPadding(CausalPadding{}), ConvolutionPadding(kUneven)}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t dilation : {1, 2}) {
        for (const int64_t groups : {1, 2, 4}) {
          const Conv1D::Config cfg{.window = 3,
                                   .stride = stride,
                                   .dilation = dilation,
                                   .padding = padding,
                                   .num_groups = groups};
          auto layer = build_for_test<Conv1D>(cfg, {.input_dim = 4, .output_dim = 8});
          EXPECT_ALLCLOSE(layer.run(x),
                          by_definition(x, layer.parameter("weight"), layer.parameter("bias"), cfg))
              << padding.name() << ", stride " << stride << ", dilation " << dilation << ", groups "
              << groups;
        }
      }
    }
  }
}

// A window over one dim alone is a Conv1D over it.
TEST(Conv2D, SlidesOverBothDims) {
  const HostTensor x = normal_values({2, 5, 3}, 1);
  const Conv1D::Config line{.window = 3, .stride = 2, .dilation = 2, .padding = SamePadding{}};
  auto one = build_for_test<Conv1D>(line, {.input_dim = 3, .output_dim = 4});
  const HostTensor expected = one.run(x);
  const HostTensor weight = one.parameter("weight"), bias = one.parameter("bias");
  for (const bool along_height : {true, false}) {
    const auto pair = [&](int64_t v) {
      return along_height ? std::vector<Positive<int64_t>>{v, 1}
                          : std::vector<Positive<int64_t>>{1, v};
    };
    const auto shape = [&](const HostTensor& t, int64_t at) {
      Shape out = t.shape();
      out.insert(out.begin() + at + (along_height ? 1 : 0), 1);
      return out;
    };
    auto two = build_for_test<Conv2D>(
        {.window = pair(3), .strides = pair(2), .dilation = pair(2), .padding = SamePadding{}},
        {.input_dim = 3, .output_dim = 4});
    two.set("weight", weight.reshaped(shape(weight, 0))).set("bias", bias);
    EXPECT_ALLCLOSE(two.run(x.reshaped(shape(x, 1))), expected.reshaped(shape(expected, 1)));
  }
}

// No result sees an input after its own position.
TEST(Conv1D, CausalWindowsSeeNoLaterInput) {
  auto layer = build_for_test<Conv1D>({.window = 4, .padding = CausalPadding{}},
                                      {.input_dim = 2, .output_dim = 2});
  HostTensor x = normal_values({1, 6, 2}, 1);
  const HostTensor before = layer.run(x);
  x.values<float>()[6] += 1;  // position 3
  const HostTensor after = layer.run(x);
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(after.at(i), before.at(i)) << i;
  EXPECT_NE(after.at(6), before.at(6));
}

TEST(ConvolutionLayer, ChecksItsFields) {
  const ConvolutionLayer::Dims dims{.input_dim = 4, .output_dim = 6};
  EXPECT_ERROR(build_for_test<Conv1D>({.window = 3, .num_groups = 4}, dims),
               "conv1_d.num_groups: must divide the numbers of features, got 4 for 4 inputs and 6 "
               "outputs");
  EXPECT_ERROR(build_for_test<Conv1D>({.window = 3, .dilation = 0}, dims),
               "conv1_d.dilation: expected an integer of at least 1, got 0");
  EXPECT_ERROR(build_for_test<Conv2D>({.strides = {1, 0}}, dims),
               "conv2_d.strides[1]: expected an integer of at least 1, got 0");
  EXPECT_ERROR(build_for_test<Conv2D>({.window = {3}}, dims),
               "conv2_d.window: expected two numbers, got 1");
  EXPECT_ERROR(build_for_test<Conv2D>({.padding = kUneven}, dims),
               "conv2_d.padding: dims: expected an entry for each of 2 spatial dims, got 1");
  EXPECT_ERROR(build_for_test<Conv2D>({}, {.input_dim = 4, .output_dim = 6, .num_spatial_dims = 1}),
               "conv2_d.window: slides over 2 dims, expected a layer over 1");
  auto layer = build_for_test<Conv2D>({}, dims);
  EXPECT_ERROR(layer.run(HostTensor::ones({2, 3, 4})),
               "conv2_d: expected x of 4 dims with 4 features last, got f32[2, 3, 4]");
}

}  // namespace
}  // namespace axle
