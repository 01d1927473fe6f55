#include "config/register.h"
#include "layers/attention/biases/distance_biases.h"
#include "layers/attention/cores/scored_core.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

constexpr AttentionCore::Dims kDims{.num_heads = 4, .head_dim = 4};

AXLE_CALL_LAWS(SoftmaxAttention, kDims,
               {{"default", {}},
                {"all_options",
                 {.scale = 0.3,
                  .per_dim_scale = PerDimScale::Config{},
                  .logit_cap = 2,
                  .dropout = Dropout::Config{.rate = 0.3},
                  .sink = true}}})
AXLE_CALL_LAWS(SigmoidAttention, kDims, {{"default", {}}, {"bias", {.bias_len = 4}}})

using Inputs = testing::LawInputs<AttentionCore>;

// Returns element [b, t, n, v] of the result by the definition, with the group size 2.
// `weight` maps a row of logits to the weights of its keys.
template <class Weight>
double expected(const Tree<HostTensor>& in, int64_t b, int64_t t, int64_t n, int64_t v,
                Weight&& weight) {
  const auto at = [](const HostTensor& x, std::initializer_list<int64_t> index) {
    int64_t flat = 0, d = 0;
    for (const int64_t i : index) flat = flat * x.shape()[d++] + i;
    return x.at(flat);
  };
  std::vector<double> logits;
  for (int64_t s = 0; s < 4; ++s) {
    double dot = 0;
    for (int64_t h = 0; h < 4; ++h)
      dot += at(in.at("query"), {b, t, n, h}) * at(in.at("keys/key"), {b, s, n / 2, h});
    logits.push_back(dot / 2 + at(in.at("visibility/bias"), {n, t, s}));
  }
  const std::vector<double> weights = weight(logits);
  double sum = 0;
  for (int64_t s = 0; s < 4; ++s) sum += weights[s] * at(in.at("keys/value"), {b, s, n / 2, v});
  return sum;
}

template <class Weight>
void expect_definition(const HostTensor& y, const Tree<HostTensor>& in, Weight&& weight) {
  ASSERT_EQ(y.shape(), (Shape{2, 3, 4, 3}));
  for (int64_t i = 0; i < y.size(); ++i)
    EXPECT_NEAR(y.at(i), expected(in, i / 36, i / 12 % 3, i / 3 % 4, i % 3, weight), 1e-5) << i;
}

std::vector<double> softmax_of(std::vector<double> logits, double sink) {
  double total = std::exp(sink);
  for (const double l : logits) total += std::exp(l);
  for (double& l : logits) l = std::exp(l) / total;
  return logits;
}

TEST(SoftmaxAttention, EqualsItsDefinition) {
  const Tree<HostTensor> in = Inputs::make(kDims);
  expect_definition(build_for_test<SoftmaxAttention>({}, kDims).call(in).outputs[0], in,
                    [](const std::vector<double>& logits) {
                      return softmax_of(logits, -std::numeric_limits<double>::infinity());
                    });
}

TEST(SoftmaxAttention, ASinkTakesAShareOfEachRow) {
  const Tree<HostTensor> in = Inputs::make(kDims);
  auto core = build_for_test<SoftmaxAttention>({.sink = true}, kDims);
  core.set("sink", HostTensor({4}, {0.7f, 0.7f, 0.7f, 0.7f}));
  expect_definition(core.call(in).outputs[0], in, [](const std::vector<double>& logits) {
    return softmax_of(logits, static_cast<double>(0.7f));
  });
}

TEST(SoftmaxAttention, SinksDifferByHead) {
  const Tree<HostTensor> in = Inputs::make(kDims);
  auto core = build_for_test<SoftmaxAttention>({.sink = true}, kDims);
  core.set("sink", HostTensor({4}, {-50.0f, 50.0f, -50.0f, -50.0f}));
  const HostTensor y = core.call(in).outputs[0];
  const HostTensor plain = build_for_test<SoftmaxAttention>({}, kDims).call(in).outputs[0];
  for (int64_t i = 0; i < y.size(); ++i)
    EXPECT_NEAR(y.at(i), i / 3 % 4 == 1 ? 0.0 : plain.at(i), 1e-5) << i;
}

TEST(SigmoidAttention, EqualsItsDefinition) {
  const Tree<HostTensor> in = Inputs::make(kDims);
  expect_definition(build_for_test<SigmoidAttention>({.bias_len = 4}, kDims).call(in).outputs[0],
                    in, [](std::vector<double> logits) {
                      for (double& l : logits) l = 1 / (1 + 4 * std::exp(-l));
                      return logits;
                    });
}

TEST(PerDimScale, IsOneAtTheStart) {
  PerDimScale::Config cfg;
  auto layer = build_for_test<PerDimScale>(cfg, {.head_dim = 3});
  layer.set("scale", HostTensor::zeros({3}));
  const HostTensor x = normal_values({2, 3}, 1);
  EXPECT_ALLCLOSE(layer.run(x), x);
  layer.set("scale", HostTensor({3}, {1.0f, -1.0f, 0.0f}));
  EXPECT_NEAR(layer.run(x).at(0), x.at(0) * std::log1p(std::exp(1.0)) / std::log(2.0), 1e-5);
}

TEST(ALiBi, SlopesArePublished) {
  EXPECT_EQ(ALiBi::slopes(8), (std::vector<float>{0.5f, 0.25f, 0.125f, 0.0625f, 1 / 32.0f,
                                                  1 / 64.0f, 1 / 128.0f, 1 / 256.0f}));
  const std::vector<float> three = ALiBi::slopes(3);
  ASSERT_EQ(three.size(), 3u);
  EXPECT_FLOAT_EQ(three[0], 1 / 16.0f);
  EXPECT_FLOAT_EQ(three[1], 1 / 256.0f);
  EXPECT_FLOAT_EQ(three[2], 0.25f);
}

TEST(ALiBi, TakesTheSlopeForEachPositionBetween) {
  auto bias = build_for_test<ALiBi>({}, {.num_heads = 2});
  const HostTensor y = bias.call(testing::LawInputs<LogitBias>::make({.num_heads = 2})).outputs[0];
  ASSERT_EQ(y.type(), (Type{DType::kF32, {2, 3, 4}}));
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t t = 0; t < 3; ++t) {
      for (int64_t s = 0; s < 4; ++s)
        EXPECT_FLOAT_EQ(static_cast<float>(y.at((n * 3 + t) * 4 + s)),
                        (n == 0 ? -1 / 16.0f : -1 / 256.0f) * static_cast<float>(std::abs(t - s)));
    }
  }
}

}  // namespace
}  // namespace axle
