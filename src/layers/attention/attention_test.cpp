#include "layers/attention/attention.h"

#include "config/register.h"
#include "layers/attention/biases/distance_biases.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/norms/norm.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

Attention::Config grouped(int64_t num_kv_heads) {
  return {.num_heads = 4, .num_kv_heads = num_kv_heads, .qkv = SeparateQKV::Config{}};
}

AXLE_LAYER_LAWS(Attention, {.model_dim = 8},
                {{"fused", {.num_heads = 2}},
                 {"grouped", grouped(2)},
                 {"multi_query", grouped(1)},
                 {"all_options",
                  {.num_heads = 2,
                   .head_dim = 6,
                   .qkv = RoPE::Config{},
                   .query_norm = RMSNorm::Config{},
                   .key_norm = RMSNorm::Config{},
                   .mask = SlidingWindowMask::Config{.window = 1},
                   .bias = ALiBi::Config{},
                   .core = SoftmaxAttention::Config{.logit_cap = 2,
                                                    .dropout = Dropout::Config{.rate = 0.5}}}},
                 {"no_mask", {.num_heads = 2, .mask = std::nullopt}}})

// Returns weight[D, K, H] with every head repeated `times` times in a row.
HostTensor repeated_heads(const HostTensor& weight, int64_t times) {
  return eval([&](const Values& x) { return Values{repeat(x[0], times, 1)}; }, {weight})[0];
}

TEST(Attention, GroupedEqualsRepeatedKeysAndValues) {
  const HostTensor x = normal_values({2, 5, 8}, 3);
  for (const int64_t kv_heads : {1, 2}) {
    auto few = build_for_test<Attention>(grouped(kv_heads), {.model_dim = 8});
    auto full = build_for_test<Attention>(grouped(4), {.model_dim = 8});
    full.set_all(few.parameters());
    for (const char* path : {"qkv/k_proj/weight", "qkv/v_proj/weight"})
      full.set(path, repeated_heads(few.parameter(path), 4 / kv_heads));
    EXPECT_ALLCLOSE(few.run(x), full.run(x));
  }
}

// Only the inputs from position 3 on change.
TEST(Attention, CausalResultsDoNotDependOnLaterPositions) {
  auto layer = build_for_test<Attention>({.num_heads = 2}, {.model_dim = 4});
  HostTensor x = normal_values({1, 5, 4}, 3);
  const HostTensor before = layer.run(x);
  for (int64_t i = 12; i < 20; ++i) x.values<float>()[i] += 1;
  const HostTensor after = layer.run(x);
  for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(before.at(i), after.at(i));
  EXPECT_GT(testing::largest_difference(before, after), 0.01);
}

TEST(Attention, SegmentsDoNotSeeEachOther) {
  auto layer = build_for_test<Attention>({.num_heads = 2, .qkv = RoPE::Config{}}, {.model_dim = 4});
  HostTensor x = normal_values({1, 6, 4}, 3);
  const auto run = [&] {
    return layer
        .call({{"x", x},
               {"context/positions", HostTensor({1, 6}, {0, 1, 2, 0, 1, 2})},
               {"context/segment_ids", HostTensor({1, 6}, {1, 1, 1, 2, 2, 2})}})
        .outputs[0];
  };
  for (size_t i = 0; i < 12; ++i) x.values<float>()[12 + i] = x.values<float>()[i];
  const HostTensor y = run();
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_FLOAT_EQ(static_cast<float>(y.at(i)), static_cast<float>(y.at(12 + i)))
        << "the same text twice";
}

/// A mask that hides every key.
class SeesNothing final : public AttentionMask {
 public:
  struct Config {
    AXLE_CONFIG(SeesNothing)
  };
  SeesNothing(const Config&, const Dims&, const Scope&) {}
  Tensor operator()(const TokenPositions& at) const override {
    return (at.query_positions < at.key_positions) & (at.query_positions > at.key_positions);
  }
};
AXLE_REGISTER(SeesNothing)

TEST(Attention, QueriesThatSeeNoKeysReturnZeros) {
  auto layer =
      build_for_test<Attention>({.num_heads = 2, .mask = SeesNothing::Config{}}, {.model_dim = 4});
  EXPECT_EQ(layer.run(normal_values({1, 3, 4}, 3)), HostTensor::zeros({1, 3, 4}));
}

TEST(Attention, SummaryIsTheLargestLogit) {
  auto layer = build_for_test<Attention>(
      {.num_heads = 1, .core = SoftmaxAttention::Config{.logit_cap = 3}}, {.model_dim = 2});
  HostTensor weight = layer.parameter("qkv/weight");
  for (float& v : weight.values<float>()) v *= 100;
  layer.set("qkv/weight", weight);
  EXPECT_ALLCLOSE(
      layer.call({{"x", normal_values({2, 4, 2}, 3)}}).summaries.at("attention/core/max_logit"),
      HostTensor::scalar(3.0f), 1e-3);
}

TEST(Attention, ChecksHeads) {
  EXPECT_ERROR(build_for_test<Attention>({.num_heads = 8, .num_kv_heads = 3}, {.model_dim = 8}),
               "attention.num_kv_heads: must divide num_heads, got 3 and 8");
  EXPECT_ERROR(
      build_for_test<Attention>({.num_heads = 3}, {.model_dim = 8}),
      "attention.num_heads: must divide the model dim unless head_dim is set, got 3 and 8");
}

}  // namespace
}  // namespace axle
