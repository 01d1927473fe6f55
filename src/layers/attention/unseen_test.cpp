// A query that sees no key gets zeros: in every core, mask and cache, for any reason.
#include "config/register.h"
#include "layers/attention/caches/bounded_kv_caches.h"
#include "layers/attention/caches/dense_kv_caches.h"
#include "layers/attention/cores/scored_core.h"
#include "layers/attention/cores/transformer_xl_attention.h"
#include "layers/attention/latent_attention.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/qkv.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;
using testing::TestLayer;
using testing::detail::DecodingSession;

constexpr MixerDims kModel{.model_dim = 8};
constexpr int64_t kRows = 2, kTokens = 5;

// A core of another project: the mean of all values, regardless of what the query may see.
class MeanOfValues final : public AttentionCore {
 public:
  struct Config {
    AXLE_CONFIG(MeanOfValues)
  };
  MeanOfValues(const Config&, const Dims&, const Scope& scope) : AttentionCore(scope) {}

 protected:
  Tensor forward(const Tensor& q_BTNH, const KeyValues& keys, const Visibility&) override {
    return q_BTNH * 0 + mean(keys.v_BSKH, {1, 2}, true);
  }
};
AXLE_REGISTER(MeanOfValues)

Tensor strictly_before(const Tensor& query_positions, const Tensor& key_positions) {
  return query_positions > key_positions;
}
AXLE_REGISTER(strictly_before, "strictly_before")

const AttentionBlocks kBlocks{.from = 1, .queries = 2, .keys = 2};

std::vector<std::pair<std::string, Child<AttentionCore>>> all_cores() {
  return {{"softmax", SoftmaxAttention::Config{}},
          {"capped", SoftmaxAttention::Config{.logit_cap = 3}},
          {"sink", SoftmaxAttention::Config{.sink = true}},
          {"sigmoid", SigmoidAttention::Config{}},
          {"sigmoid_bias", SigmoidAttention::Config{.bias_len = 4}},
          {"transformer_xl", TransformerXLAttention::Config{}},
          {"softmax_blocks", SoftmaxAttention::Config{.blocks = kBlocks}},
          {"sink_blocks", SoftmaxAttention::Config{.sink = true, .blocks = kBlocks}},
          {"sigmoid_blocks", SigmoidAttention::Config{.blocks = kBlocks}},
          {"transformer_xl_blocks", TransformerXLAttention::Config{.blocks = kBlocks}},
          {"own", MeanOfValues::Config{}}};
}

const PositionMask::Config kBefore{
    .sees = Fn<Tensor(const Tensor&, const Tensor&)>{"strictly_before", &strictly_before},
    .causal = true};

HostTensor segments() { return HostTensor({2, 5}, {1, 1, 2, 2, 0, 1, 2, 2, 0, 0}); }

struct BlindCase {
  std::string name;
  std::optional<Child<AttentionMask>> mask;
  Tree<HostTensor> inputs;              // beside x
  std::vector<std::vector<int>> blind;  // the queries of each row that see nothing
};
std::vector<BlindCase> all_masks() {
  const HostTensor prefixes({2}, {0, 2});
  return {
      {"prefix",
       PrefixMask::Config{},
       {{"context/prefix_lengths", prefixes}},
       {{0, 1, 2, 3, 4}, {}}},
      {"before", kBefore, {}, {{0}, {0}}},
      {"before_in_segments",
       kBefore,
       {{"context/segment_ids", segments()}},
       {{0, 2, 4}, {0, 1, 3, 4}}},
      {"all_of",
       AllOf::Config{.masks = {SlidingWindowMask::Config{.window = 2}, kBefore}},
       {},
       {{0}, {0}}},
      {"any_of",
       AnyOf::Config{.masks = {PrefixMask::Config{}, kBefore}},
       {{"context/prefix_lengths", prefixes}},
       {{0}, {}}},
      {"padding", CausalMask::Config{}, {{"context/segment_ids", segments()}}, {{4}, {3, 4}}},
      {"padding_named",
       AnyOf::Config{.masks = {SegmentMask::Config{}}},
       {{"context/segment_ids", segments()}},
       {{4}, {3, 4}}},
      {"padding_without_mask", std::nullopt, {{"context/segment_ids", segments()}}, {{4}, {3, 4}}},
  };
}

bool is_blind(const BlindCase& c, int64_t row, int64_t token) {
  return std::ranges::count(c.blind[row], token) > 0;
}

// Expects zeros for the queries that see nothing, and numbers for the others.
void expect_blind(const HostTensor& y_BTD, const BlindCase& c) {
  for (int64_t b = 0; b < kRows; ++b) {
    for (int64_t t = 0; t < kTokens; ++t) {
      double largest = 0;
      for (int64_t d = 0; d < 8; ++d)
        largest = std::max(largest, std::abs(y_BTD.at((b * kTokens + t) * 8 + d)));
      EXPECT_EQ(largest == 0, is_blind(c, b, t))
          << "row " << b << ", query " << t << ": " << largest;
    }
  }
}

// Expects that no argument gets a gradient from the queries that see nothing, and that all
// gradients of all queries are finite.
void expect_no_gradient(const testing::LayerFunction& fn, const BlindCase& c) {
  const HostTensor y = eval(fn, fn.arguments())[0];
  for (const bool only_blind : {true, false}) {
    HostTensor cotangent = normal_values(y.shape(), 9);
    for (int64_t i = 0; only_blind && i < y.size(); ++i) {
      if (!is_blind(c, i / 8 / kTokens, i / 8 % kTokens)) cotangent.values<float>()[i] = 0;
    }
    const auto gradients = eval(testing::gradient_function(fn, {cotangent}), fn.arguments());
    for (const HostTensor& g : gradients) {
      const double largest = testing::largest_difference(g, HostTensor::full(g.shape(), 0));
      EXPECT_TRUE(std::isfinite(largest));
      EXPECT_TRUE(!only_blind || largest == 0) << largest;
    }
  }
}

TEST(QueryWithoutKeys, GetsZerosFromEveryCoreAndMask) {
  for (const auto& [core_name, core] : all_cores()) {
    for (const BlindCase& c : all_masks()) {
      SCOPED_TRACE(core_name + ", " + c.name);
      Attention::Config cfg{.num_heads = 2, .qkv = SeparateQKV::Config{}, .core = core};
      cfg.mask = c.mask;
      auto layer = build_for_test<Attention>(cfg, kModel);
      Tree<HostTensor> inputs = c.inputs;
      inputs.emplace("x", normal_values({kRows, kTokens, 8}, 3));
      expect_blind(layer.call(inputs).outputs[0], c);
      expect_no_gradient(layer.function(inputs), c);
    }
  }
}

TEST(QueryWithoutKeys, GetsZerosFromCrossAttention) {
  const BlindCase c{"cross", std::nullopt, {}, {{0, 1}, {2, 3, 4}}};
  for (const auto& [core_name, core] : all_cores()) {
    SCOPED_TRACE(core_name);
    Attention::Config cfg{.num_heads = 2, .qkv = SourceQKV::Config{}, .core = core};
    cfg.mask = std::nullopt;
    auto layer = build_for_test<Attention>(cfg, kModel);
    const Tree<HostTensor> inputs{
        {"x", normal_values({kRows, kTokens, 8}, 3)},
        {"context/segment_ids", HostTensor({2, 5}, {1, 1, 2, 2, 2, 1, 1, 2, 2, 2})},
        {"published/source", normal_values({kRows, 3, 8}, 4)},
        {"published/source/segments", HostTensor({2, 3}, {2, 2, 0, 1, 1, 0})}};
    expect_blind(layer.call(inputs).outputs[0], c);
    expect_no_gradient(layer.function(inputs), c);
  }
}

TEST(QueryWithoutKeys, GetsZerosFromLatentAttention) {
  for (const BlindCase& c : all_masks()) {
    SCOPED_TRACE(c.name);
    LatentAttention::Config cfg{.num_heads = 2, .kv_rank = 4, .nope_dim = 4, .rope_dim = 2};
    cfg.mask = c.mask;
    auto layer = build_for_test<LatentAttention>(cfg, kModel);
    Tree<HostTensor> inputs = c.inputs;
    inputs.emplace("x", normal_values({kRows, kTokens, 8}, 3));
    expect_blind(layer.call(inputs).outputs[0], c);
    expect_no_gradient(layer.function(inputs), c);
  }
}

TEST(QueryWithoutKeys, GetsZerosFromEveryCache) {
  const Child<AttentionMask> near =
      AllOf::Config{.masks = {SlidingWindowMask::Config{.window = 2}, kBefore}};
  const std::vector<std::pair<std::string, Child<KVCache>>> caches{
      {"dense", DenseKVCache::Config{}},
      {"sliding", SlidingKVCache::Config{.window = 2}},
      {"paged", PagedKVCache::Config{.page_size = 2}},
      {"quantized", QuantizedKVCache::Config{}}};
  for (const auto& [core_name, core] : all_cores()) {
    if (core_name == "own") continue;  // it sees the empty entries of a cache
    for (const auto& [cache_name, cache] : caches) {
      for (const auto& [mask_name, mask, num_blind] :
           {std::tuple<std::string, Child<AttentionMask>, int64_t>{"before", near, 1},
            {"prefix", AllOf::Config{.masks = {near, PrefixMask::Config{}}}, kTokens}}) {
        SCOPED_TRACE(core_name + ", " + cache_name + ", " + mask_name);
        auto layer = build_for_test<Attention>({.num_heads = 2,
                                                .qkv = SeparateQKV::Config{},
                                                .mask = mask,
                                                .core = core,
                                                .kv_cache = cache},
                                               kModel);
        const HostTensor x = normal_values({kRows, kTokens, 8}, 3);
        DecodingSession<Attention> decoding(layer, kRows, kTokens + 1);
        for (int64_t t = 0; t < kTokens; ++t) {
          const HostTensor y = decoding.extend(x, {t, t}, 1, {1, 1})[0];
          EXPECT_EQ(testing::largest_element(y) == 0, t < num_blind) << "token " << t;
        }
      }
    }
  }
}

}  // namespace
}  // namespace axle
