#include "layers/attention/cores/transformer_xl_attention.h"

#include "layers/attention/attention.h"
#include "layers/attention/caches/bounded_kv_caches.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/qkv.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

constexpr AttentionCore::Dims kTransformerXlDims{.num_heads = 4, .head_dim = 4};
AXLE_CALL_LAWS(TransformerXLAttention, kTransformerXlDims,
               {{"default", {}},
                {"all_options",
                 {.scale = 0.3,
                  .per_dim_scale = PerDimScale::Config{},
                  .logit_cap = 2,
                  .dropout = Dropout::Config{.rate = 0.3},
                  .position_dim = 6,
                  .theta = 100}}})

// Whole layers take the path of tokens in order; decoding takes the other one.
constexpr MixerDims kMixer{.model_dim = 8};
const TransformerXLAttention::Config kCore{.theta = 100};
AXLE_LAYER_LAWS(Attention, kMixer,
                {{"transformer_xl", {.num_heads = 2, .core = kCore}},
                 {"transformer_xl_grouped",
                  {.num_heads = 4, .num_kv_heads = 2, .qkv = SeparateQKV::Config{}, .core = kCore}},
                 {"transformer_xl_window",
                  {.num_heads = 2,
                   .mask = SlidingWindowMask::Config{.window = 1},
                   .core = kCore,
                   .kv_cache = SlidingKVCache::Config{.window = 1}}},
                 {"transformer_xl_every_key", {.num_heads = 2, .mask = {}, .core = kCore}}})

// One row, two heads of 2 elements, embeddings of 4 elements.
struct Example {
  int64_t T, S;
  std::vector<int32_t> query_positions, key_positions;
};
constexpr int64_t N = 2, H = 2, P = 4;

// The definition: the weight of each pair of a query and a key, with its own embedding.
double transformer_xl_result(const Example& e, const Tree<HostTensor>& in,
                             const Tree<HostTensor>& p, bool causal, int64_t t, int64_t n,
                             int64_t h) {
  const auto parameter = [&](const char* name) {
    return p.at(std::string("transformer_xl_attention/") + name);
  };
  const HostTensor w = parameter("position_weight"), u = parameter("content_bias"),
                   v = parameter("position_bias");
  const HostTensor &q = in.at("query"), &k = in.at("key"), &values = in.at("value");
  double total = 0, sum = 0;
  for (int64_t s = 0; s < e.S; ++s) {
    const double distance = e.query_positions[t] - e.key_positions[s];
    if (causal && distance < 0) continue;
    const double embedding[P] = {std::sin(distance), std::sin(distance / 10), std::cos(distance),
                                 std::cos(distance / 10)};
    double logit = 0;
    for (int64_t i = 0; i < H; ++i) {
      double r = 0;
      for (int64_t j = 0; j < P; ++j) r += embedding[j] * w.at((j * N + n) * H + i);
      const double query = q.at((t * N + n) * H + i);
      logit += (query + u.at(n * H + i)) * k.at((s * N + n) * H + i);
      logit += (query + v.at(n * H + i)) * r;
    }
    const double weight = std::exp(logit / std::sqrt(2.0));
    total += weight;
    sum += weight * values.at((s * N + n) * H + h);
  }
  return sum / total;
}

// Calls the core with `visibility`, for which the names of inputs are not enough.
HostTensor call(testing::TestLayer<TransformerXLAttention>& core, const Example& e,
                const Tree<HostTensor>& in, bool in_order, bool causal) {
  std::vector<HostTensor> arguments;
  for (const Tree<HostTensor>* tree : {&core.parameters(), &in}) {
    for (const auto& [path, value] : *tree) arguments.push_back(value);
  }
  const CausalMask mask({}, {}, {});
  return eval(
      [&](const Values& x) {
        auto at = x.begin();
        Tree<Tensor> parameters, inputs;
        for (const auto& [path, value] : core.parameters()) parameters.emplace(path, *at++);
        for (const auto& [path, value] : in) inputs.emplace(path, *at++);
        const auto positions = [&](const std::vector<int32_t>& p, Shape shape) {
          return constant(HostTensor(std::move(shape), std::span<const int32_t>(p)));
        };
        Visibility visibility{.mask = causal ? &mask : nullptr};
        visibility.positions = {.query_positions = positions(e.query_positions, {e.T, 1}),
                                .key_positions = positions(e.key_positions, {1, e.S}),
                                .in_order = in_order};
        const KeyValues keys{.k_BSKH = inputs.at("key"), .v_BSKH = inputs.at("value")};
        return Values{functional(core.layer(), std::move(parameters), {}, [&] {
                        return core.layer()(inputs.at("query"), keys, visibility);
                      }).first};
      },
      arguments)[0];
}

void expect_transformer_xl(const Example& e, bool in_order, bool causal) {
  SCOPED_TRACE(fmt::format("T {} S {} in order {} causal {}", e.T, e.S, in_order, causal));
  auto core = build_for_test<TransformerXLAttention>({.position_dim = P, .theta = 100},
                                                     {.num_heads = N, .head_dim = H});
  const Tree<HostTensor> in{{"query", normal_values({1, e.T, N, H}, 1)},
                            {"key", normal_values({1, e.S, N, H}, 2)},
                            {"value", normal_values({1, e.S, N, H}, 3)}};
  const HostTensor y = call(core, e, in, in_order, causal);
  for (int64_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(
        y.at(i),
        transformer_xl_result(e, in, core.parameters(), causal, i / (N * H), i / H % N, i % H),
        1e-5)
        << "element " << i;
  }
}

std::vector<int32_t> counted(int64_t n) {
  std::vector<int32_t> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(static_cast<int32_t>(i));
  return out;
}

// More queries than keys, fewer, one; the shift of rows and the rotated queries agree.
TEST(TransformerXLAttention, EmbedsTheDistanceOfEachPair) {
  for (const auto& [T, S] : {std::pair{4, 4}, {1, 1}, {2, 5}, {5, 2}, {1, 3}, {3, 1}}) {
    const Example e{.T = T, .S = S, .query_positions = counted(T), .key_positions = counted(S)};
    for (const bool in_order : {true, false}) {
      for (const bool causal : {true, false}) expect_transformer_xl(e, in_order, causal);
    }
  }
}

TEST(TransformerXLAttention, TakesAnyPositions) {
  expect_transformer_xl(
      {.T = 2, .S = 4, .query_positions = {907, 3}, .key_positions = {900, 2, 901, 0}}, false,
      false);
  expect_transformer_xl(
      {.T = 2, .S = 4, .query_positions = {907, 3}, .key_positions = {900, 2, 901, 0}}, false,
      true);
}

TEST(TransformerXLAttention, PositionDimIsEven) {
  EXPECT_ERROR(build_for_test<TransformerXLAttention>({.position_dim = 3}, kTransformerXlDims),
               "transformer_xl_attention.position_dim: must be even, got 3");
}

}  // namespace
}  // namespace axle
