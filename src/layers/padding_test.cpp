// Padding does not count: parts that count tokens, in the ways in which models hold them. Each
// layer also has the law by itself (testing/layer_laws.h).
#include "layers/blocks/stack.h"
#include "layers/experts/dispatch.h"
#include "layers/experts/linear_routers.h"
#include "layers/experts/moe.h"
#include "layers/models/causal_lm.h"
#include "layers/norms/batch_norms.h"
#include "layers/pipeline/pipeline.h"
#include "layers/products/fp8_product.h"
#include "layers/products/int8_product.h"
#include "layers/recurrent/recurrent.h"
#include "nn/remat_policies.h"
#include "testing/layer_laws.h"
#include "testing/padding_law.h"

namespace axle::testing {

template <>
struct LawInputs<Router> : TokensInX {
  static Tree<HostTensor> make(const Router::Dims& d) {
    return {{"x", normal_values({2, 4, d.model_dim}, 1)}};
  }
};

}  // namespace axle::testing

namespace axle {
namespace {

using testing::TestLayer;
using testing::detail::law_content_of_padding_of;
using testing::detail::law_padding_of;
using testing::detail::law_padding_of_nan;

constexpr MixerDims kPaddingDims{.model_dim = 4};

template <class L>
void expect_law(const typename L::Config& config, const typename L::Role::Dims& dims,
                LayerOptions options = {}) {
  TestLayer<L> layer(config, dims, std::move(options));
  law_padding_of(layer, dims);
}

const RouterLosses kAllLosses{
    .load_balance = 0.5, .z = 0.3, .sequence_balance = 0.2, .correlation = 0.1};

MoE::Config experts(Child<Router> router, Child<Dispatch> dispatch) {
  return {.num_experts = 3,
          .router = std::move(router),
          .dispatch = std::move(dispatch),
          .hidden_dim = FixedDim{6}};
}
// Drops about half of the choices.
CapacityDispatch::Config few_places() {
  return {.train_capacity_factor = 0.7, .eval_capacity_factor = 0.7};
}
std::vector<Child<Router>> all_routers() {
  return {SwitchRouter::Config{.losses = kAllLosses}, Top2Router::Config{.losses = kAllLosses},
          TopKRouter::Config{.losses = kAllLosses},
          BalancedRouter::Config{.top_k = 2, .losses = kAllLosses}};
}

TEST(Padding, IsIgnoredByRouters) {
  const RouterDims dims{.model_dim = 4, .num_experts = 3, .num_groups = 1};
  expect_law<SwitchRouter>({.losses = kAllLosses}, dims);
  expect_law<Top2Router>({.losses = kAllLosses}, dims);
  expect_law<TopKRouter>({.losses = kAllLosses}, dims);
  expect_law<BalancedRouter>({.top_k = 2, .losses = kAllLosses}, dims);
}

TEST(Padding, TakesNoCapacityOfExperts) {
  for (const Child<Router>& router : all_routers()) {
    expect_law<MoE>(experts(router, SortedDispatch::Config{}), kPaddingDims);
    expect_law<MoE>(experts(router, few_places()), kPaddingDims);
  }
  MoE::Config adaptive = experts(TopKRouter::Config{}, few_places());
  adaptive.adaptive_load_balance =
      AdaptiveLossScale::Config{.max_overload = 0.1, .min_weight = 0.01};
  expect_law<MoE>(adaptive, kPaddingDims);
}

TEST(Padding, DoesNotChangeGroupsOfExperts) {
  for (const Child<Router>& router : all_routers()) {
    for (const auto& [outer, inner] : {std::pair(1, 2), {2, 1}}) {
      CapacityDispatch::Config dispatch = few_places();
      dispatch.outer_batch = outer;
      dispatch.num_groups = inner;
      expect_law<MoE>(experts(router, dispatch), kPaddingDims);
      dispatch.train_borders = GroupBorders::kRows;
      expect_law<MoE>(experts(router, dispatch), kPaddingDims);
      // Borders that count positions follow the amount of padding, as published.
      dispatch.train_borders = GroupBorders::kPositions;
      TestLayer<MoE> layer(experts(router, dispatch), kPaddingDims);
      law_content_of_padding_of(layer, kPaddingDims);
    }
  }
}

TEST(Padding, MayHoldNaNInFrontOfExperts) {
  for (const Child<Router>& router : all_routers()) {
    for (const Child<Dispatch>& dispatch :
         {Child<Dispatch>(SortedDispatch::Config{}), Child<Dispatch>(few_places())}) {
      TestLayer<MoE> layer(experts(router, dispatch), kPaddingDims);
      law_padding_of_nan(layer, kPaddingDims);
    }
  }
}

// A capacity factor that is no sum of powers of two: the program finds the capacity of 6 tokens as
// the config does.
TEST(Padding, CapacityCountsTokensOnly) {
  for (const double factor : {0.3, 0.7, 1.1, 2.3}) {
    const MoE::Config cfg = experts(
        SwitchRouter::Config{},
        CapacityDispatch::Config{.train_capacity_factor = factor, .eval_capacity_factor = factor});
    TestLayer<MoE> layer(cfg, kPaddingDims);
    for (const int64_t tokens : {1, 5, 9, 10, 11}) {
      const HostTensor x = testing::normal_values({1, tokens, 4}, 3);
      HostTensor padded = testing::normal_values({1, 16, 4}, 4), ids(Type{DType::kI32, {1, 16}});
      std::ranges::copy(x.values<float>(), padded.values<float>().begin());
      std::ranges::fill(ids.values<int32_t>().first(tokens), 1);
      const HostTensor y = layer.run(x),
                       z = layer.call({{"x", padded}, {"context/segment_ids", ids}}).outputs[0];
      for (int64_t i = 0; i < y.size(); ++i)
        EXPECT_NEAR(y.at(i), z.at(i), 1e-6) << factor << ", " << tokens << " tokens";
      for (int64_t i = y.size(); i < z.size(); ++i) EXPECT_EQ(z.at(i), 0);
    }
  }
}

TEST(Padding, IsIgnoredByScalesOfProducts) {
  const Projection::Dims dims{.input_dim = 4, .output_dim = 3};
  for (const ScaleGroup group : {ScaleGroup::kTensor, ScaleGroup::kRow}) {
    expect_law<Linear>({.product = Fp8Product::Config{.scales = group}}, dims);
  }
  expect_law<Linear>({.product = DelayedFp8Product::Config{}}, dims);
  expect_law<Linear>({.product = Int8Product::Config{}}, dims);
  for (const Child<Product>& product :
       {Child<Product>(Fp8Product::Config{}), Child<Product>(DelayedFp8Product::Config{})}) {
    MoE::Config cfg = experts(TopKRouter::Config{}, SortedDispatch::Config{});
    cfg.up = cfg.down = Linear::Config{.bias = false, .product = product};
    expect_law<MoE>(cfg, kPaddingDims);
    cfg.dispatch = few_places();
    expect_law<MoE>(cfg, kPaddingDims);
  }
}

TEST(Padding, IsIgnoredInStepsOfACell) {
  for (const Child<Product>& product :
       {Child<Product>(Fp8Product::Config{}), Child<Product>(DelayedFp8Product::Config{}),
        Child<Product>(Int8Product::Config{})}) {
    const LSTMCell::Config cell{.input_proj =
                                    MultiLinear::Config{.bias = false, .product = product}};
    expect_law<Recurrent>({.cell = cell}, kPaddingDims);
    expect_law<Recurrent>({.cell = StackedCells::Config{.layers = {cell, cell}, .dims = {3}}},
                          kPaddingDims);
    expect_law<Recurrent>({.cell = RepeatedCells::Config{.num_layers = 2, .layer = cell}},
                          kPaddingDims);
  }
  expect_law<Recurrent>({.cell = LSTMCell::Config{.norm = BatchNorm::Config{}}}, kPaddingDims);
  expect_law<Recurrent>({.cell = LSTMCell::Config{}}, kPaddingDims, {.stats = all_statistics()});
}

TEST(Padding, IsIgnoredByStatistics) {
  const LayerOptions stats{.stats = all_statistics()};
  expect_law<Linear>({}, {.input_dim = 4, .output_dim = 3}, stats);
  expect_law<FeedForward>({.hidden_dim = FixedDim{5}}, kPaddingDims, stats);
  expect_law<BatchNorm>({}, {.input_dim = 4}, stats);
  expect_law<GroupNorm>({.num_groups = 2}, {.input_dim = 4}, stats);
  expect_law<Attention>({.num_heads = 2}, kPaddingDims, stats);
}

TransformerLayer::Config layer_with_experts() {
  Child<Mixer> mixture =
      experts(BalancedRouter::Config{.top_k = 2, .losses = kAllLosses}, SortedDispatch::Config{});
  return {.attention = PreNorm::Config{.norm = BatchNorm::Config{},
                                       .body = Attention::Config{.num_heads = 2}},
          .feed_forward = PreNorm::Config{.body = std::move(mixture)}};
}

TEST(Padding, IsIgnoredInLoopsAndRemat) {
  expect_law<TransformerLayer>(layer_with_experts(), kPaddingDims);
  expect_law<TransformerLayer>(layer_with_experts(), kPaddingDims, {.remat = SaveNothing{}});
  expect_law<Repeat>({.num_layers = 2, .layer = layer_with_experts()}, kPaddingDims);
  expect_law<Repeat>({.num_layers = 2, .layer = {layer_with_experts(), {.remat = SaveNothing{}}}},
                     kPaddingDims);
  expect_law<Stacked>({.num_layers = 2, .layer = layer_with_experts()}, kPaddingDims);
}

// Microbatches count by their tokens. BatchNorm has statistics of each microbatch.
TEST(Padding, IsIgnoredInPipelines) {
  TransformerLayer::Config layer{
      .attention = PreNorm::Config{.body = Attention::Config{.num_heads = 2}},
      .feed_forward = PreNorm::Config{
          .body = experts(TopKRouter::Config{.losses = {.z = 0.5}}, SortedDispatch::Config{})}};
  layer.feed_forward.options.stats = {MaxAbs{}};
  expect_law<Pipeline>({.num_layers = 2, .num_microbatches = 1, .layer = layer}, kPaddingDims);
  layer.feed_forward.options.stats = {};
  expect_law<Pipeline>({.num_layers = 2, .num_microbatches = 2, .layer = layer}, kPaddingDims);
}

TEST(Padding, IsIgnoredInModels) {
  for (const std::optional<int64_t> chunk : {std::optional<int64_t>(), std::optional<int64_t>(3)}) {
    CausalLM::Config model{
        .decoder = Decoder::Config{
            .model_dim = 4,
            .vocab_size = 5,
            .layers = Repeat::Config{.num_layers = 2, .layer = layer_with_experts()},
            .output_norm = BatchNorm::Config{}}};
    if (chunk) model.loss_chunk_len = *chunk;
    expect_law<CausalLM>(model, {});
  }
}

}  // namespace
}  // namespace axle
