// Values that cross layers: shared keys and values, attention to the results of other layers.
#include "layers/attention/caches/bounded_kv_caches.h"
#include "layers/attention/caches/dense_kv_caches.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "layers/mixer.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

constexpr MixerDims kSharingDims{.model_dim = 8};

PreNorm::Config block(Attention::Config attention) { return {.body = std::move(attention)}; }
PreNorm::Config owner() {
  return block({.num_heads = 2,
                .qkv = RoPE::Config{.inner = SeparateQKV::Config{}},
                .kv_cache = SharedKVCache::Config{}});
}
PreNorm::Config borrower() {
  return block({.num_heads = 2,
                .qkv = RoPE::Config{.inner = QueryOnly::Config{}},
                .kv_cache = BorrowedKVCache::Config{}});
}
Child<Block> published(Child<Block> body) { return Published::Config{.body = std::move(body)}; }
PreNorm::Config reader() {
  return block({.num_heads = 2, .qkv = SourceQKV::Config{.same_tokens = true}});
}
Stacked::Config stack(std::vector<Child<Block>> layers) {
  const auto count = std::ssize(layers);
  return {.num_layers = count, .layers = std::move(layers)};
}

// The laws hold gradients, remat of the whole stack, and decoding to these layers.
AXLE_LAYER_LAWS(Stacked, kSharingDims,
                {{"shared_keys", stack({owner(), borrower(), borrower()})},
                 {"cross_layer_attention", stack({published(block({.num_heads = 2})), reader()})}})
AXLE_LAYER_LAWS(Repeat, kSharingDims,
                {{"shared_in_each_layer",
                  {.num_layers = 2, .layer = stack({owner(), borrower()})}}})

// Sets the parameters of the two copies in an unrolled stack from the parameters of a loop.
template <class Loop, class Unrolled>
void copy_parameters(const Loop& loop, Unrolled& unrolled, const std::string& below) {
  for (const auto& [path, value] : loop.parameters()) {
    if (!path.starts_with(below)) continue;
    const Shape shape(value.shape().begin() + 1, value.shape().end());
    const auto n = static_cast<size_t>(num_elements(shape));
    for (size_t i = 0; i < 2; ++i) {
      unrolled.set(fmt::format("layer{}{}", i + 1, path.substr(below.size())),
                   HostTensor(shape, value.template values<float>().subspan(i * n, n)));
    }
  }
}

// Layers of a loop read what a layer before the loop has published, and replace it for the next
// layer and for those after the loop.
TEST(Published, PassesThroughALoop) {
  const Child<Block> chained = published(reader());
  const auto first = published(block({.num_heads = 2}));
  auto loop = build_for_test<Stacked>(
      stack({first, Repeat::Config{.num_layers = 2, .layer = chained}, reader()}), kSharingDims);
  auto unrolled = build_for_test<Stacked>(stack({first, chained, chained, reader()}), kSharingDims);
  copy_parameters(loop, unrolled, "stacked/layer1/layer");
  for (const auto& [path, value] : loop.parameters()) {
    if (path.starts_with("stacked/layer0/")) unrolled.set(path.substr(8), value);
    if (path.starts_with("stacked/layer2/"))
      unrolled.set("layer3" + path.substr(std::string("stacked/layer2").size()), value);
  }
  const HostTensor x = normal_values({2, 3, 8}, 5);
  EXPECT_ALLCLOSE(loop.run(x), unrolled.run(x));
}

TEST(Published, PublisherMustPrecedeItsReaders) {
  EXPECT_ERROR(
      build_for_test<Stacked>(stack({reader(), published(block({.num_heads = 2}))}), kSharingDims)
          .run(normal_values({1, 2, 8}, 1)),
      "stacked.layers[0].body.qkv: expected a value published as 'source', got none; a layer that "
      "publishes it must be called before this one");
  // In the first layer of the loop nothing is published yet.
  EXPECT_THROW(
      build_for_test<Repeat>(
          {.num_layers = 2, .layer = stack({reader(), published(block({.num_heads = 2}))})},
          kSharingDims)
          .run(normal_values({1, 2, 8}, 1)),
      ConfigError);
}

// Any wrapper of the queries, and any cache that wants keys.
TEST(QueryOnly, NeedsACacheThatBorrows) {
  const auto error = [](Child<QKV> qkv, Child<KVCache> cache) {
    return error_of<ConfigError>([&] {
      build_for_test<Attention>(
          {.num_heads = 2, .qkv = std::move(qkv), .kv_cache = std::move(cache)}, kSharingDims);
    });
  };
  const std::string expected =
      "attention.kv_cache: expected a cache that has the keys of another layer (BorrowedKVCache), "
      "since {} makes none, got {}";
  EXPECT_EQ(error(QueryOnly::Config{}, DenseKVCache::Config{}),
            fmt::format(fmt::runtime(expected), "QueryOnly", "DenseKVCache"));
  EXPECT_EQ(error(RoPE::Config{.inner = QueryOnly::Config{}}, PagedKVCache::Config{}),
            fmt::format(fmt::runtime(expected), "RoPE", "PagedKVCache"));
  EXPECT_EQ(error(QueryOnly::Config{}, SharedKVCache::Config{}),
            fmt::format(fmt::runtime(expected), "QueryOnly", "SharedKVCache"));
  EXPECT_EQ(error(QueryOnly::Config{}, BorrowedKVCache::Config{}), "no error");
  EXPECT_EQ(error(QueryOnly::Config{}, SharedKVCache::Config{.inner = BorrowedKVCache::Config{}}),
            "no error");
}

TEST(BorrowedKVCache, SavesTheParametersOfKeysAndValues) {
  const auto layer = Child<Block>(borrower()).build(kSharingDims, {.path = "b"});
  for (const auto& [path, spec] : layer->param_specs())
    EXPECT_EQ(path.find("k_proj"), std::string::npos) << path;
  EXPECT_TRUE(layer->decode_state_specs({}).empty());
}

// Decoding with segment ids: tokens of the second text do not see the first one.
TEST(DenseKVCache, HonoursSegments) {
  auto layer = build_for_test<Attention>({.num_heads = 2}, kSharingDims);
  const HostTensor x = normal_values({1, 5, 8}, 3);
  const HostTensor segments({1, 5}, {1, 1, 2, 2, 2});
  const HostTensor whole = layer.call({{"x", x}, {"context/segment_ids", segments}}).outputs[0];
  Tree<HostTensor> state;
  for (const auto& [path, spec] : layer.layer().decode_state_specs({.max_len = 6}))
    state.emplace(path, HostTensor(spec.type));
  for (int64_t t = 0; t < 5; ++t) {
    const auto step =
        layer.call({{"x", testing::detail::tokens_from(x, {t}, 1)},
                    {"context/positions", HostTensor({1, 1}, {static_cast<int32_t>(t)})},
                    {"context/segment_ids", testing::detail::tokens_from(segments, {t}, 1)}},
                   {.decoding = true, .state = state});
    state = step.state;
    EXPECT_ALLCLOSE(step.outputs[0], testing::detail::tokens_from(whole, {t}, 1), 1e-5) << t;
  }
}

TEST(PrefixMask, TrainsOnlyWithTheLengthsOfThePrefixes) {
  auto layer =
      build_for_test<Attention>({.num_heads = 2, .mask = PrefixMask::Config{}}, kSharingDims);
  const HostTensor x = normal_values({2, 5, 8}, 3);
  EXPECT_ERROR(
      layer.call({{"x", x}}, {.training = true}),
      "attention.mask: PrefixMask: expected a batch with prefix_lengths, got one without; set "
      "input.prompt, or take the mask out");
  const HostTensor lengths({2}, {3, 2});
  EXPECT_EQ(layer.call({{"x", x}, {"context/prefix_lengths", lengths}}, {.training = true}).outputs,
            layer.call({{"x", x}, {"context/prefix_lengths", lengths}}).outputs);
}

// The prefix is prefilled in one call; its tokens see each other.
TEST(PrefixMask, DecodingMatchesTheWholePass) {
  auto layer = build_for_test<Attention>(
      {.num_heads = 2,
       .mask = AnyOf::Config{.masks = {CausalMask::Config{}, PrefixMask::Config{}}}},
      kSharingDims);
  const HostTensor x = normal_values({2, 5, 8}, 3);
  const HostTensor lengths({2}, {3, 2});
  const HostTensor whole = layer.call({{"x", x}, {"context/prefix_lengths", lengths}}).outputs[0];
  Tree<HostTensor> state;
  for (const auto& [path, spec] : layer.layer().decode_state_specs({.batch_size = 2, .max_len = 8}))
    state.emplace(path, HostTensor(spec.type));
  int64_t from = 0;
  for (const int64_t n : {3, 1, 1}) {
    const auto step =
        layer.call({{"x", testing::detail::tokens_from(x, {from, from}, n)},
                    {"context/positions",
                     testing::detail::tokens_from(
                         HostTensor({2, 5}, {0, 1, 2, 3, 4, 0, 1, 2, 3, 4}), {from, from}, n)},
                    {"context/prefix_lengths", lengths}},
                   {.decoding = true, .state = state});
    state = step.state;
    EXPECT_ALLCLOSE(step.outputs[0], testing::detail::tokens_from(whole, {from, from}, n), 1e-5);
    from += n;
  }
}

}  // namespace
}  // namespace axle
