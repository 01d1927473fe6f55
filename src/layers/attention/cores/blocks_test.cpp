// Attention by blocks computes what attention at once does: values, gradients, and the same for
// every core, mask, bias and grouping of heads.
#include "layers/attention/cores/blocks_test.h"

#include <cmath>
#include <numeric>

#include "config/register.h"
#include "ir/text/text_form.h"
#include "layers/attention/biases/distance_biases.h"
#include "layers/attention/caches/bounded_kv_caches.h"
#include "layers/attention/masks/attention_mask.h"
#include "nn/layer_role.h"
#include "nn/remat_policies.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "transform/bodies.h"
#include "transform/grad.h"
#include "transform/simplify.h"

namespace axle {
namespace {

using namespace blocks_test;

Tensor of_other_parity(const Tensor& query_positions, const Tensor& key_positions) {
  const Tensor distance = query_positions - key_positions;
  return not_equal(distance / 2 * 2, distance);
}
AXLE_REGISTER(of_other_parity, "of_other_parity")

Tensor before_the_row(const Tensor& query_positions, const Tensor& key_positions) {
  return query_positions + key_positions < 0;
}
AXLE_REGISTER(before_the_row, "before_the_row")

using SeesKey = Fn<Tensor(const Tensor&, const Tensor&)>;
const PositionMask::Config kOtherParity{.sees = SeesKey{"of_other_parity", &of_other_parity}},
    kNothing{.sees = SeesKey{"before_the_row", &before_the_row}};

TEST(AttentionBlocks, CoresGiveTheSameResults) {
  for (const auto& [name, core] : cores()) {
    for (const int64_t num_kv_heads : {4, 2, 1}) {
      for (const std::string& blocks : kBlocks) {
        for (const std::string& mesh : kMeshes) {
          SCOPED_TRACE(name + std::to_string(num_kv_heads) + blocks + mesh);
          Attention::Config cfg{.num_kv_heads = num_kv_heads, .core = core};
          expect_same(cfg, blocks, {}, training_on(mesh));
        }
      }
    }
  }
}

TEST(AttentionBlocks, MasksGiveTheSameResults) {
  const HostTensor segments({2, 12}, {1, 1, 1, 2, 2, 2, 2, 3, 0, 0, 0, 0,  //
                                      1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2});
  const Tree<HostTensor> packed{{"context/segment_ids", segments}},
      prefixes{{"context/prefix_lengths", HostTensor({2}, {5, 0})}};
  const SlidingWindowMask::Config window{.window = 3};
  const std::vector<std::tuple<std::string, std::optional<Child<AttentionMask>>, Tree<HostTensor>>>
      masks{{"none", std::nullopt, {}},
            {"packed", CausalMask::Config{}, packed},
            {"window", window, packed},
            {"two_sided", TwoSidedWindowMask::Config{.before = 1, .after = 4}, {}},
            {"segments", SegmentMask::Config{}, packed},
            {"prefix", PrefixMask::Config{}, prefixes},
            {"prefix_lm", AnyOf::Config{.masks = {PrefixMask::Config{}, CausalMask::Config{}}},
             prefixes},
            {"all_of", AllOf::Config{.masks = {window, kOtherParity}}, {}},
            {"positions", kOtherParity, packed},
            {"nothing", kNothing, {}}};
  for (const auto& [core_name, core] : cores()) {
    for (const auto& [name, mask, context] : masks) {
      for (const std::string& mesh : kMeshes) {
        SCOPED_TRACE(core_name + ", " + name + ", " + mesh);
        Attention::Config cfg{.num_kv_heads = 2, .core = core};
        cfg.mask = mask;
        expect_same(cfg, kBlocks[0], context, training_on(mesh));
      }
    }
  }
}

// Each share has two parts of several blocks under the causal mask, one part under the window.
TEST(AttentionBlocks, SharesOfSeveralBlocksGiveTheSameResults) {
  HostTensor segments(Type{DType::kI32, {kRows, 48}});
  for (int64_t i = 0; i < segments.size(); ++i)
    segments.values<int32_t>()[i] = static_cast<int32_t>(1 + i % 48 / 20);
  for (const auto& [core_name, core] : cores()) {
    for (const Child<AttentionMask>& mask : std::vector<Child<AttentionMask>>{
             CausalMask::Config{}, SlidingWindowMask::Config{.window = 5}}) {
      for (const std::string mesh : {"seq=2", "seq=3", "seq=4"}) {
        SCOPED_TRACE(core_name + ", " + mesh);
        Attention::Config cfg{.num_kv_heads = 2, .core = core};
        cfg.mask = mask;
        cfg.bias = ALiBi::Config{};
        set(cfg, "core.dropout", "0.3");
        expect_same(cfg, "{from: 1, queries: 4, keys: 4}", {{"context/segment_ids", segments}},
                    training_on(mesh), 48);
      }
    }
  }
}

TEST(AttentionBlocks, DroppedWeightsGiveTheSameResults) {
  for (const auto& [core_name, core] : cores()) {
    for (const int64_t num_kv_heads : {4, 2}) {
      for (const std::string& blocks : kBlocks) {
        for (const std::string& mesh : kMeshes) {
          SCOPED_TRACE(core_name + std::to_string(num_kv_heads) + blocks + mesh);
          Attention::Config cfg{.num_kv_heads = num_kv_heads, .core = core};
          cfg.mask = SlidingWindowMask::Config{.window = 4};
          set(cfg, "core.dropout", "0.4");
          expect_same(cfg, blocks, {}, training_on(mesh));
        }
      }
    }
  }
}

// The result and the gradient of attention of 64 tokens with blocks of 8.
std::shared_ptr<Region> traced_gradient(const Child<AttentionMask>& mask, bool by_blocks,
                                        const LayerOptions& options = {}) {
  Attention::Config cfg{.num_heads = 4, .num_kv_heads = 2, .qkv = SeparateQKV::Config{}};
  cfg.mask = mask;
  cfg.bias = ALiBi::Config{};
  if (by_blocks) set(cfg, "core.blocks", "{from: 1, queries: 8, keys: 8}");
  auto layer = build_for_test<Attention>(cfg, kModel, options);
  const testing::LayerFunction fn =
      layer.function({{"x", normal_values({1, 64, 8}, 3)},
                      {"context/segment_ids", HostTensor::ones({1, 64}, DType::kI32)}},
                     {.training = options.remat.has_value()});
  std::vector<Type> types;
  for (const HostTensor& x : fn.arguments()) types.push_back(x.type());
  const auto with_gradient = [&](const Values& x) {
    const Linearized done = vjp(fn, x);
    Values out = done.outputs;
    for (const Tensor& gradient : done.pullback({constant(normal_values({1, 64, 8}, 9))})) {
      if (gradient) out.push_back(gradient);
    }
    return out;
  };
  return simplify(*trace(with_gradient, types));
}

TEST(AttentionBlocks, ValuesStaySmallerThanAllScores) {
  EXPECT_GE(largest_value(*traced_gradient(CausalMask::Config{}, false)), 64 * 64 * 4);
  EXPECT_LT(largest_value(*traced_gradient(CausalMask::Config{}, true)), 64 * 64);
}

// No policy can keep what each pair of blocks computes.
TEST(AttentionBlocks, RematPoliciesCannotSaveAllScores) {
  for (const Fn<RematPolicy()>& policy :
       {Fn<RematPolicy()>(SaveNothing{}), Fn<RematPolicy()>(SaveDots{}),
        Fn<RematPolicy()>(SaveEverything{}), Fn<RematPolicy()>(SaveNames{.names = {"*"}})}) {
    const LayerOptions options{.remat = policy};
    EXPECT_LT(largest_value(*traced_gradient(CausalMask::Config{}, true, options)), 64 * 64);
    EXPECT_GE(largest_value(*traced_gradient(CausalMask::Config{}, false, options)), 64 * 64 * 4);
  }
}

// The loop over pairs of blocks runs again, unless what the backward pass needs of it is kept.
TEST(AttentionBlocks, SavedValuesAreNotComputedAgain) {
  const auto loops = [](const SaveNames& policy) {
    return count_ops(*traced_gradient(CausalMask::Config{}, true, {.remat = policy}), "scan");
  };
  EXPECT_EQ(loops({.names = {"*_proj"}}), 3);
  EXPECT_EQ(loops({.names = {"*_proj", "attention_blocks", "attention_log_sum"}}), 2);
}

// Results and gradients of a core under a causal mask, with normal weights: in the dtype, at once
// and by blocks, and exactly.
struct Rounded {
  std::vector<HostTensor> values[2], exact;
};
Rounded rounded(const Child<AttentionCore>& core, DType dtype, const Shape& shape,
                const std::string& blocks, int64_t seed) {
  Rounded out;
  for (const bool by_blocks : {false, true}) {
    Attention::Config cfg{.num_heads = 4, .num_kv_heads = 2, .qkv = SeparateQKV::Config{}};
    cfg.mask = CausalMask::Config{};
    cfg.core = core;
    set(cfg, "core.blocks", by_blocks ? blocks : "{from: none}");
    auto layer = build_for_test<Attention>(cfg, kModel, {.dtype = dtype});
    Tree<HostTensor> parameters;
    int64_t number = 10 * seed;
    for (const auto& [path, value] : layer.parameters())
      parameters.emplace(path, normal_values(value.shape(), ++number).astype(value.dtype()));
    layer.set_all(parameters);
    const testing::LayerFunction fn =
        layer.function({{"x", normal_values(shape, seed).astype(dtype)}}, {});
    const TensorFunction gradient =
        testing::gradient_function(fn, {normal_values(shape, seed + 100).astype(dtype)});
    const auto all = [&](const EvalOptions& how) {
      std::vector<HostTensor> values = eval(fn, fn.arguments(), how);
      for (HostTensor& g : eval(gradient, fn.arguments(), how)) values.push_back(std::move(g));
      return values;
    };
    out.values[by_blocks] = all({});
    if (!by_blocks) out.exact = all({.f64 = true});
  }
  return out;
}

// Returns the square root of the mean squared difference, relative to the largest element of
// `exact`.
double mean_error_of(const HostTensor& value, const HostTensor& exact) {
  const double scale = testing::largest_element(exact);
  if (scale == 0) return 0;
  double sum = 0;
  for (int64_t i = 0; i < exact.size(); ++i) {
    const double difference = (value.at(i) - exact.at(i)) / scale;
    sum += difference * difference;
  }
  return std::sqrt(sum / static_cast<double>(exact.size()));
}

// Each result and gradient of each core, over four draws.
TEST(AttentionBlocks, Bf16IsNoLessExactThanThePlainForm) {
  for (const auto& [core_name, core] : cores()) {
    SCOPED_TRACE(core_name);
    std::vector<double> errors[2];
    for (const int64_t seed : {1, 2, 3, 4}) {
      const Rounded found =
          rounded(core, DType::kBF16, {1, 64, 8}, "{from: 1, queries: 8, keys: 8}", seed);
      for (const bool by_blocks : {false, true}) {
        errors[by_blocks].resize(found.exact.size());
        for (size_t i = 0; i < found.exact.size(); ++i)
          errors[by_blocks][i] += mean_error_of(found.values[by_blocks][i], found.exact[i]);
      }
    }
    for (size_t i = 0; i < errors[0].size(); ++i) {
      EXPECT_GT(errors[0][i], 0) << "result " << i;
      // Four draws distinguish a tenth.
      EXPECT_LE(errors[1][i], 1.15 * errors[0][i]) << "result " << i;
    }
    EXPECT_LE(std::accumulate(errors[1].begin(), errors[1].end(), 0.0),
              std::accumulate(errors[0].begin(), errors[0].end(), 0.0));
  }
}

// To 1e-6 beside what the plain form itself rounds, also for logits of hundreds.
TEST(AttentionBlocks, F32IsAsExactAsThePlainForm) {
  auto with_large_logits = cores();
  for (const double scale : {5.0, 50.0}) {
    with_large_logits.emplace_back(fmt::format("scale_{}", scale),
                                   SoftmaxAttention::Config{.scale = scale, .sink = true});
  }
  for (const auto& [core_name, core] : with_large_logits) {
    SCOPED_TRACE(core_name);
    const Rounded found =
        rounded(core, DType::kF32, {1, 300, 8}, "{from: 1, queries: 64, keys: 48}", 3);
    // The gradients of the embedding of distances are sums over more parts.
    const double more = core.get_if<TransformerXLAttention>() ? 2.5 : 1.5;
    for (size_t i = 0; i < found.exact.size(); ++i) {
      EXPECT_LT(testing::largest_difference(found.values[1][i], found.exact[i]),
                more * testing::largest_difference(found.values[0][i], found.exact[i]) +
                    1e-6 * std::max(1.0, testing::largest_element(found.exact[i])))
          << "result " << i;
      EXPECT_LE(mean_error_of(found.values[1][i], found.exact[i]),
                more * mean_error_of(found.values[0][i], found.exact[i]) + 1e-7)
          << "result " << i;
    }
  }
}

// Chunks of 7 and 4 tokens: what a mask hides depends on positions that no block of queries knows.
TEST(AttentionBlocks, DecodingGivesTheSameResults) {
  const AnyOf::Config prefix_lm{.masks = {PrefixMask::Config{}, CausalMask::Config{}}};
  std::vector<Attention::Config> layers;
  for (const Child<AttentionMask>& mask : std::vector<Child<AttentionMask>>{
           CausalMask::Config{}, prefix_lm, SlidingWindowMask::Config{.window = 3}}) {
    layers.push_back({.num_heads = 4, .qkv = SeparateQKV::Config{}, .mask = mask});
  }
  for (const auto& [name, core] : cores()) {
    layers.push_back({.num_heads = 4, .qkv = SeparateQKV::Config{}, .core = core});
    layers.back().bias = ALiBi::Config{};
  }
  for (Attention::Config& cfg : layers) {
    SCOPED_TRACE(&cfg - layers.data());
    cfg.num_kv_heads = 2;
    for (const Child<KVCache>& cache : std::vector<Child<KVCache>>{
             DenseKVCache::Config{}, PagedKVCache::Config{.page_size = 4}}) {
      std::vector<HostTensor> results[2];
      for (const bool by_blocks : {false, true}) {
        cfg.kv_cache = cache;
        set(cfg, "core.blocks", by_blocks ? kBlocks[0] : "{from: none}");
        auto layer = build_for_test<Attention>(cfg, kModel);
        testing::CallOptions call{.decoding = true};
        for (const auto& [path, spec] :
             layer.layer().decode_state_specs({.batch_size = kRows, .max_len = 13}))
          call.state.emplace(path, HostTensor(spec.type));
        for (const auto& [begin, end] : {std::pair<int32_t, int32_t>(0, 7), {7, kTokens}}) {
          HostTensor positions(Type{DType::kI32, {kRows, end - begin}});
          for (int64_t i = 0; i < positions.size(); ++i) {
            positions.values<int32_t>()[i] = begin + static_cast<int32_t>(i) % (end - begin);
          }
          const CallForms forms;
          auto result = layer.call({{"x", normal_values({kRows, end - begin, 8}, end)},
                                    {"context/positions", positions},
                                    {"context/prefix_lengths", HostTensor({2}, {9, 0})}},
                                   call);
          EXPECT_THAT(forms.notes().at("attention/core"),
                      ::testing::StartsWith(by_blocks ? "by blocks: " : "at once: "));
          results[by_blocks].push_back(std::move(result.outputs[0]));
          for (auto& [path, value] : result.state) call.state.at(path) = std::move(value);
        }
      }
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_LT(testing::largest_difference(results[0][i], results[1][i]), 1e-6);
      }
    }
  }
}

// All logits are negative: what fills up the last blocks, with logits of 0, must not count.
TEST(AttentionBlocks, LargestLogitIsTheSame) {
  for (const auto& [core_name, core] : cores()) {
    SCOPED_TRACE(core_name);
    double largest[2];
    for (const bool by_blocks : {false, true}) {
      Attention::Config cfg{.num_heads = 4, .qkv = SeparateQKV::Config{}, .core = core};
      set(cfg, "core.blocks", by_blocks ? kBlocks[0] : "{from: none}");
      auto layer = build_for_test<Attention>(cfg, kModel);
      Tree<HostTensor> parameters = layer.parameters();
      HostTensor& keys = parameters.at("attention/qkv/k_proj/weight");
      keys = parameters.at("attention/qkv/q_proj/weight");
      for (float& k : keys.values<float>()) k = -k;
      layer.set_all(parameters);
      const auto summaries = layer.call({{"x", HostTensor::ones({1, kTokens, 8})}}).summaries;
      largest[by_blocks] = summaries.at("attention/core/max_logit").at(0);
    }
    if (core_name != "transformer_xl") {
      EXPECT_LT(largest[0], -1e-3);
    }
    EXPECT_NEAR(largest[1], largest[0], 1e-6);
  }
}

TEST(AttentionBlocks, LargestLogitWithoutVisibleKeysIsTheSame) {
  for (const auto& [core_name, core] : cores()) {
    SCOPED_TRACE(core_name);
    for (const std::string& blocks : {kBlocks[0], std::string("{from: none}")}) {
      Attention::Config cfg{.num_heads = 4, .qkv = SeparateQKV::Config{}, .core = core};
      cfg.mask = kNothing;
      set(cfg, "core.blocks", blocks);
      auto layer = build_for_test<Attention>(cfg, kModel);
      const auto called = layer.call({{"x", HostTensor::ones({1, kTokens, 8})}});
      EXPECT_FLOAT_EQ(called.summaries.at("attention/core/max_logit").at(0), kHiddenLogit)
          << blocks;
    }
  }
}

TEST(AttentionBlocks, HiddenBlocksAreNotComputed) {
  const auto flops = [](int64_t before, int64_t after) {
    return region_flops(
        *traced_gradient(TwoSidedWindowMask::Config{.before = before, .after = after}, true));
  };
  // All 64 pairs, the 36 on and below the diagonal, and the 15 of a window of a block.
  const double all = flops(99, 99), causal = flops(99, 0), window = flops(8, 0);
  EXPECT_NEAR((all - causal) / (causal - window), (64.0 - 36) / (36 - 15), 1e-9);
  EXPECT_LT(window, all / 2);
}

}  // namespace
}  // namespace axle
