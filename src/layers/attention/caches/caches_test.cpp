// Every cache returns what the dense one returns.
#include "layers/attention/caches/bounded_kv_caches.h"
#include "layers/attention/caches/dense_kv_caches.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;
using testing::detail::DecodingSession;

constexpr MixerDims kCachesDims{.model_dim = 8};
constexpr int64_t kLength = 11;

Attention::Config attention(Child<AttentionMask> mask, Child<KVCache> cache) {
  return {.num_heads = 4,
          .num_kv_heads = 2,
          .qkv = RoPE::Config{.inner = SeparateQKV::Config{}},
          .mask = std::move(mask),
          .kv_cache = std::move(cache)};
}
const Child<AttentionMask> kWindow = SlidingWindowMask::Config{.window = 3};
constexpr int64_t kManyMore = 1000;  // than the rows have positions
const Child<AttentionMask> kLongWindow = SlidingWindowMask::Config{.window = kManyMore};

struct Case {
  std::string name;
  Child<AttentionMask> mask;
  Child<KVCache> cache;
  double tolerance = 1e-5;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Caches : public ::testing::TestWithParam<Case> {
 protected:
  // Feeds two rows: a prompt of different lengths, then chunks of different sizes. Compares every
  // token with one call for the whole text.
  template <class L>
  void expect_decoding(testing::TestLayer<L>& layer, const std::vector<int64_t>& chunks) {
    const HostTensor x = normal_values({2, kLength, 8}, 3);
    const HostTensor whole = layer.run(x);
    for (const bool places_prompts : {true, false})
      expect_session(layer, chunks, x, whole, places_prompts);
  }
  template <class L>
  void expect_session(testing::TestLayer<L>& layer, const std::vector<int64_t>& chunks,
                      const HostTensor& x, const HostTensor& whole, bool places_prompts) {
    DecodingSession<L> decoding(layer, 2, kLength + 1, places_prompts);
    std::vector<int64_t> at{0, 0};
    for (const int64_t n : chunks) {
      // The second row has one token less in the first chunk; padding follows.
      const int64_t missing = at[0] == 0 && n > 1 ? 1 : 0;
      const std::vector<int64_t> lengths{n, n - missing};
      const HostTensor y = decoding.extend(x, at, n, lengths)[0];
      for (int64_t b = 0; b < 2; ++b) {
        for (int64_t t = 0; t < lengths[b]; ++t) {
          for (int64_t d = 0; d < 8; ++d) {
            ASSERT_NEAR(y.at((b * n + t) * 8 + d), whole.at((b * kLength + at[b] + t) * 8 + d),
                        GetParam().tolerance)
                << "row " << b << ", token " << at[b] + t;
          }
        }
      }
      for (size_t b = 0; b < 2; ++b) at[b] += lengths[b];
    }
  }
};

TEST_P(Caches, DecodingMatchesTheWholePass) {
  auto layer = build_for_test<Attention>(attention(GetParam().mask, GetParam().cache), kCachesDims);
  expect_decoding(layer, {5, 1, 1, 1, 2});
  expect_decoding(layer, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  expect_decoding(layer, {2, 7, 1});
}

TEST_P(Caches, DecodingInALoopMatchesTheWholePass) {
  auto layer = build_for_test<Repeat>(
      {.num_layers = 2,
       .layer = PreNorm::Config{.body = attention(GetParam().mask, GetParam().cache)}},
      kCachesDims);
  expect_decoding(layer, {4, 1, 3, 1, 1});
}

// A prompt sees its own tokens alone, however many entries the cache has.
TEST_P(Caches, PromptIsComputedWithoutTheCache) {
  const auto flops = [](bool places_prompts, int64_t max_len) {
    auto layer =
        build_for_test<Attention>(attention(GetParam().mask, GetParam().cache), kCachesDims);
    Tree<HostTensor> inputs{{"x", normal_values({2, 6, 8}, 3)}};
    if (places_prompts) inputs.emplace("context/positions", HostTensor(Type{DType::kI32, {2, 6}}));
    testing::CallOptions call{.decoding = true};
    for (const auto& [path, spec] :
         layer.layer().decode_state_specs({.batch_size = 2, .max_len = max_len}))
      call.state.emplace(path, HostTensor(spec.type));
    const testing::LayerFunction fn = layer.function(inputs, call);
    std::vector<Type> types;
    for (const HostTensor& x : fn.arguments()) types.push_back(x.type());
    const auto region = trace(fn, types);
    double of_products = 0;
    for (const OpNode* op : region->ops())
      if (op->rules->row().traits.is_product) of_products += op->rules->row().cost.flops(*op);
    return of_products;
  };
  EXPECT_EQ(flops(false, 12), flops(false, 64));
  EXPECT_LT(flops(false, 12), flops(true, 12));
}

// A published window may be far longer than the rows that are decoded.
TEST_P(Caches, AreNoLongerThanTheRows) {
  constexpr int64_t kRows = 2;
  const auto elements = [&](const Child<KVCache>& cache) {
    auto layer = build_for_test<Attention>(attention(GetParam().mask, cache), kCachesDims);
    int64_t out = 0;
    for (const auto& [path, spec] :
         layer.layer().decode_state_specs({.batch_size = kRows, .max_len = kLength + 1}))
      out += num_elements(spec.type.dims);
    return out;
  };
  // Beside keys and values there are a few numbers for each entry.
  EXPECT_LE(elements(GetParam().cache),
            elements(DenseKVCache::Config{}) + 4 * kRows * (kLength + 1));
}

INSTANTIATE_TEST_SUITE_P(
    All, Caches,
    ::testing::Values(Case{"dense", CausalMask::Config{}, DenseKVCache::Config{}},
                      Case{"dense_window", kWindow, DenseKVCache::Config{}},
                      Case{"sliding", kWindow, SlidingKVCache::Config{.window = 3}},
                      Case{"sliding_larger", kWindow, SlidingKVCache::Config{.window = 5}},
                      Case{"sliding_longer_than_rows", kLongWindow,
                           SlidingKVCache::Config{.window = kManyMore}},
                      Case{"paged", CausalMask::Config{}, PagedKVCache::Config{.page_size = 4}},
                      Case{"paged_window", kWindow, PagedKVCache::Config{.page_size = 1}},
                      Case{"quantized", CausalMask::Config{}, QuantizedKVCache::Config{}, 0.05},
                      Case{"shared_sliding", kWindow,
                           SharedKVCache::Config{.inner = SlidingKVCache::Config{.window = 3}}}),
    [](const auto& tested) { return tested.param.name; });

TEST(QuantizedKVCache, ErrorIsBounded) {
  auto cache = build_for_test<QuantizedKVCache>({}, {.num_kv_heads = 2, .head_dim = 4});
  Tree<HostTensor> state;
  for (const auto& [path, spec] : cache.layer().decode_state_specs({.max_len = 3}))
    state.emplace(path, HostTensor(spec.type));
  const HostTensor k = normal_values({1, 3, 2, 4}, 1), v = HostTensor::zeros({1, 3, 2, 4});
  const auto result = cache.call(
      {{"fresh/key", k}, {"fresh/value", v}, {"fresh/positions", HostTensor({1, 3}, {0, 1, 2})}},
      {.decoding = true, .state = state});
  for (int64_t head = 0; head < 6; ++head) {
    double largest = 0;
    for (int64_t h = 0; h < 4; ++h) largest = std::max(largest, std::abs(k.at(4 * head + h)));
    for (int64_t h = 0; h < 4; ++h)
      EXPECT_NEAR(result.outputs[0].at(4 * head + h), k.at(4 * head + h), largest / 253);
  }
  EXPECT_EQ(result.outputs[1], v);
  EXPECT_EQ(result.state.at("quantized_kv_cache/key").dtype(), DType::kI8);
}

TEST(PagedKVCache, AllocatesPagesAsRowsGrow) {
  auto cache = build_for_test<PagedKVCache>({.page_size = 2, .num_pages = 3},
                                            {.num_kv_heads = 1, .head_dim = 1});
  Tree<HostTensor> state;
  for (const auto& [path, spec] : cache.layer().decode_state_specs({.batch_size = 2, .max_len = 6}))
    state.emplace(path, HostTensor(spec.type));
  EXPECT_EQ(state.at("paged_kv_cache/key_pages").shape(), (Shape{3, 2, 1, 1}));
  const auto extend = [&](std::vector<int32_t> positions, std::vector<float> keys) {
    const auto n = std::ssize(positions) / 2;
    const HostTensor k({2, n, 1, 1}, std::span<const float>(keys));
    const auto result =
        cache.call({{"fresh/key", k},
                    {"fresh/value", k},
                    {"fresh/positions", HostTensor({2, n}, std::span<const int32_t>(positions))}},
                   {.decoding = true, .state = state});
    state = result.state;
    return result.outputs[0];
  };
  extend({0, 1, 0, kNoPosition}, {1, 2, 11, 0});
  EXPECT_EQ(state.at("paged_kv_cache/num_used").at(0), 2);
  extend({2, 1}, {3, 12});
  EXPECT_EQ(state.at("paged_kv_cache/num_used").at(0), 3);
  const HostTensor k = extend({3, kNoPosition}, {4, 0});
  EXPECT_EQ(state.at("paged_kv_cache/num_used").at(0), 3) << "the second row needs no page";
  for (int64_t s = 0; s < 4; ++s) EXPECT_EQ(k.at(s), s + 1);
  for (int64_t s = 0; s < 2; ++s) EXPECT_EQ(k.at(6 + s), s + 11);
}

TEST(SlidingKVCache, NeedsAMaskWithAWindow) {
  const std::string rest = "; use SlidingWindowMask, a larger window, or DenseKVCache";
  EXPECT_ERROR(
      build_for_test<Attention>(
          attention(CausalMask::Config{}, SlidingKVCache::Config{.window = 3}), kCachesDims),
      "attention.kv_cache.window: expected a mask with a window of at most 3 positions, "
      "got a mask without a window" +
          rest);
  EXPECT_ERROR(
      build_for_test<Attention>(
          attention(SlidingWindowMask::Config{.window = 4}, SlidingKVCache::Config{.window = 3}),
          kCachesDims),
      "attention.kv_cache.window: expected a mask with a window of at most 3 positions, got one of "
      "4" +
          rest);
  EXPECT_NO_THROW(
      build_for_test<Attention>(attention(AllOf::Config{.masks = {CausalMask::Config{}, kWindow}},
                                          SlidingKVCache::Config{.window = 3}),
                                kCachesDims));
}

}  // namespace
}  // namespace axle
