// Tests of HybridNorm, Sandwich, ParallelBlock, Pattern and the joins.
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/mixer.h"
#include "ops/elementwise/elementwise.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;
using testing::TestLayer;

constexpr MixerDims kPlacementDims{.model_dim = 4};
const FeedForward::Config kFeed{.hidden_dim = FixedDim{6}};
const Attention::Config kAttention{.num_heads = 2};

AXLE_LAYER_LAWS(
    HybridNorm, kPlacementDims,
    {{"feed_forward", {.body = kFeed}},
     {"gated",
      {.body = kFeed, .dropout = Dropout::Config{.rate = 0.5}, .join = GatedAdd::Config{}}}})
AXLE_LAYER_LAWS(Sandwich, kPlacementDims,
                {{"default", {.body = kFeed}},
                 {"all_norms",
                  {.body = kFeed,
                   .body_norm = RMSNorm::Config{},
                   .dropout = Dropout::Config{.rate = 0.5},
                   .join = Add::Config{.weight = 0.5}}},
                 {"no_norm", {.in_norm = std::nullopt, .body = kFeed, .out_norm = std::nullopt}}})
AXLE_LAYER_LAWS(ParallelBlock, kPlacementDims,
                {{"small", {.attention = kAttention, .feed_forward = kFeed}}})
AXLE_LAYER_LAWS(Pattern, kPlacementDims,
                {{"groups_and_rest",
                  {.num_layers = 5,
                   .pattern = {PreNorm::Config{.body = kAttention},
                               PreNorm::Config{.body = kFeed}}}}})

// Returns part(x) with the parameters that `whole` has under `name`.
template <class Part, class Whole>
HostTensor run_part(const Whole& whole, const std::string& name, const typename Part::Config& cfg,
                    const typename Part::Role::Dims& dims, const HostTensor& x) {
  TestLayer<Part> part(cfg, dims);
  const std::string prefix = whole.parameters().begin()->first;
  const std::string root = prefix.substr(0, prefix.find('/'));
  for (const auto& [path, value] : subtree(whole.parameters(), root + "/" + name))
    part.set(path, value);
  return part.run(x);
}

HostTensor sum_of(const HostTensor& a, const HostTensor& b, double weight = 1) {
  return eval([&](const Values& x) { return Values{x[0] + weight * x[1]}; }, {a, b})[0];
}

const RMSNorm::Dims kNormDims{.input_dim = 4};

TEST(HybridNorm, NormsBothSidesOfTheBody) {
  auto block = build_for_test<HybridNorm>({.body = kFeed}, kPlacementDims);
  const HostTensor x = normal_values({2, 3, 4}, 1);
  const HostTensor inner = run_part<FeedForward>(
      block, "body", kFeed, kPlacementDims, run_part<RMSNorm>(block, "norm", {}, kNormDims, x));
  EXPECT_ALLCLOSE(block.run(x),
                  sum_of(x, run_part<RMSNorm>(block, "post_norm", {}, kNormDims, inner)));
}

TEST(Sandwich, NormsTheResidualStreamLast) {
  auto block = build_for_test<Sandwich>({.body = kFeed}, kPlacementDims);
  const HostTensor x = normal_values({2, 3, 4}, 1);
  const HostTensor inner = run_part<FeedForward>(
      block, "body", kFeed, kPlacementDims, run_part<RMSNorm>(block, "in_norm", {}, kNormDims, x));
  EXPECT_ALLCLOSE(block.run(x),
                  run_part<RMSNorm>(block, "out_norm", {}, kNormDims, sum_of(x, inner)));
}

TEST(Sandwich, EqualsPostNormIfItHasNoInNorm) {
  auto block = build_for_test<Sandwich>({.in_norm = std::nullopt, .body = kFeed}, kPlacementDims);
  auto post = build_for_test<PostNorm>({.body = kFeed}, kPlacementDims);
  for (const auto& [path, value] : subtree(block.parameters(), "sandwich"))
    post.set(path.starts_with("out_norm/") ? path.substr(4) : path, value);
  const HostTensor x = normal_values({2, 3, 4}, 1);
  EXPECT_EQ(block.run(x), post.run(x));
}

TEST(ParallelBlock, AddsBothMixersOfOneNorm) {
  auto block = build_for_test<ParallelBlock>({.attention = kAttention, .feed_forward = kFeed},
                                             kPlacementDims);
  const HostTensor x = normal_values({2, 3, 4}, 1);
  const HostTensor normed = run_part<RMSNorm>(block, "norm", {}, kNormDims, x);
  const HostTensor attended =
      run_part<Attention>(block, "attention", kAttention, kPlacementDims, normed);
  const HostTensor fed =
      run_part<FeedForward>(block, "feed_forward", kFeed, kPlacementDims, normed);
  EXPECT_ALLCLOSE(block.run(x), sum_of(x, sum_of(attended, fed)));
}

TEST(Join, WeighsOrGatesTheBody) {
  const HostTensor x = normal_values({1, 2, 4}, 1), y = normal_values({1, 2, 4}, 2);
  auto half = build_for_test<Add>({.weight = 0.5}, {});
  EXPECT_ALLCLOSE(half.call({{"x", x}, {"y", y}}).outputs[0], sum_of(x, y, 0.5));
  auto gated = build_for_test<GatedAdd>({}, {});
  gated.set("gate", HostTensor::scalar(1.0f));
  const auto result = gated.call({{"x", x}, {"y", y}});
  const double open = 1 / (1 + std::exp(-1.0));
  EXPECT_ALLCLOSE(result.outputs[0], sum_of(x, y, open));
  EXPECT_NEAR(result.summaries.at("gated_add/gate").at(0), open, 1e-6);
}

TEST(Pattern, EqualsItsLayersOneByOne) {
  const Child<Block> attention = PreNorm::Config{.body = kAttention},
                     feed = PreNorm::Config{.body = kFeed};
  auto pattern =
      build_for_test<Pattern>({.num_layers = 5, .pattern = {attention, feed}}, kPlacementDims);
  auto stack = build_for_test<Stacked>(
      {.num_layers = 5, .layers = {attention, feed, attention, feed, attention}}, kPlacementDims);
  for (const auto& [path, value] : subtree(pattern.parameters(), "pattern/groups/layer")) {
    const Shape shape(value.shape().begin() + 1, value.shape().end());
    const auto n = static_cast<size_t>(num_elements(shape));
    const size_t place = path.starts_with("layer1/") ? 1 : 0;
    for (size_t group = 0; group < 2; ++group)
      stack.set(fmt::format("layer{}/{}", 2 * group + place, path.substr(7)),
                HostTensor(shape, value.values<float>().subspan(group * n, n)));
  }
  for (const auto& [path, value] : subtree(pattern.parameters(), "pattern/rest/layer0"))
    stack.set("layer4/" + path, value);
  const HostTensor x = normal_values({2, 3, 4}, 1);
  EXPECT_ALLCLOSE(pattern.run(x), stack.run(x));
}

TEST(Pattern, LayersMayBeFewerThanAGroup) {
  auto pattern = build_for_test<Pattern>(
      {.num_layers = 1,
       .pattern = {PreNorm::Config{.body = kFeed}, PreNorm::Config{.body = kAttention}}},
      kPlacementDims);
  EXPECT_EQ(pattern.parameters().begin()->first.substr(0, 20), "pattern/rest/layer0/");
  EXPECT_ERROR(build_for_test<Pattern>({.num_layers = 1}, kPlacementDims),
               "pattern.pattern: expected the blocks of one group, got none; give at least one");
}

}  // namespace
}  // namespace axle
