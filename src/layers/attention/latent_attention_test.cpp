#include "layers/attention/latent_attention.h"

#include <gmock/gmock.h>

#include "config/set.h"
#include "layers/attention/caches/bounded_kv_caches.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/products/int8_product.h"
#include "nn/layer_role.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

constexpr MixerDims kLatentDims{.model_dim = 8};

LatentAttention::Config small() {
  return {.num_heads = 2, .kv_rank = 5, .nope_dim = 3, .rope_dim = 2, .value_dim = 4};
}
LatentAttention::Config with_query_rank() {
  LatentAttention::Config cfg = small();
  cfg.query_rank = 3;
  cfg.query_down = Linear::Config{.bias = false};
  cfg.query_norm = RMSNorm::Config{};
  return cfg;
}
LatentAttention::Config with_window() {
  LatentAttention::Config cfg = small();
  cfg.mask = SlidingWindowMask::Config{.window = 2};
  cfg.kv_cache = SlidingKVCache::Config{.window = 2};
  return cfg;
}
LatentAttention::Config with_pages() {
  LatentAttention::Config cfg = small();
  cfg.kv_cache = PagedKVCache::Config{.page_size = 2};
  return cfg;
}

LatentAttention::Config by_blocks() {
  LatentAttention::Config cfg = small();
  set(cfg, "core.blocks", "{from: 1, queries: 2, keys: 3}");
  return cfg;
}

// Decoding, in the absorbed form, returns what the expanded form returns.
AXLE_LAYER_LAWS(LatentAttention, kLatentDims,
                {{"small", small()},
                 {"query_rank", with_query_rank()},
                 {"blocks", by_blocks()},
                 {"window", with_window()},
                 {"pages", with_pages()}})

double at(const HostTensor& x, std::initializer_list<int64_t> index) {
  int64_t flat = 0, d = 0;
  for (const int64_t i : index) flat = flat * x.shape()[d++] + i;
  return x.at(flat);
}

TEST(LatentAttention, BlocksGiveTheSameResults) {
  const auto values = [](const LatentAttention::Config& cfg) {
    auto layer = build_for_test<LatentAttention>(cfg, kLatentDims);
    const CallForms forms;
    const auto fn = layer.function({{"x", normal_values({2, 7, 8}, 3)}}, {});
    std::vector<HostTensor> out = eval(fn, fn.arguments());
    const auto gradient = testing::gradient_function(fn, {normal_values({2, 7, 8}, 9)});
    for (HostTensor& g : eval(gradient, fn.arguments())) out.push_back(std::move(g));
    return std::pair(forms.notes().at("latent_attention/core"), std::move(out));
  };
  const auto [plain, expected] = values(small());
  const auto [form, actual] = values(by_blocks());
  EXPECT_THAT(plain, ::testing::StartsWith("at once"));
  EXPECT_THAT(form, ::testing::StartsWith("by blocks"));
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_ALLCLOSE(actual[i], expected[i], 1e-5) << i;
}

// The published formulas, one number after another.
TEST(LatentAttention, EqualsItsDefinition) {
  auto layer = build_for_test<LatentAttention>(small(), kLatentDims);
  const HostTensor x = normal_values({1, 4, 8}, 1), y = layer.run(x);
  const auto p = [&](const char* name) -> const HostTensor& { return layer.parameter(name); };
  constexpr int64_t kT = 4, kN = 2, kR = 5, kH = 3;
  const auto turned = [](double a, double b, int64_t t, int64_t part) {
    const double c = std::cos(static_cast<double>(t)), s = std::sin(static_cast<double>(t));
    return part == 0 ? a * c - b * s : b * c + a * s;
  };
  double latent[kT][kR], shared[kT][2], q[kT][kN][kH + 2];
  for (int64_t t = 0; t < kT; ++t) {
    const auto projected = [&](auto&& weight) {
      double sum = 0;
      for (int64_t d = 0; d < 8; ++d) sum += at(x, {0, t, d}) * weight(d);
      return sum;
    };
    const auto down = [&](int64_t r) {
      return projected([&](int64_t d) { return at(p("kv_down/weight"), {d, r}); });
    };
    double square = 0;
    for (int64_t r = 0; r < kR; ++r) square += down(r) * down(r) / kR;
    for (int64_t r = 0; r < kR; ++r)
      latent[t][r] = down(r) / std::sqrt(square + RMSNorm::Config{}.eps) * p("kv_norm/scale").at(r);
    for (int64_t e = 0; e < 2; ++e) shared[t][e] = turned(down(kR), down(kR + 1), t, e);
    for (int64_t n = 0; n < kN; ++n) {
      const auto head = [&](int64_t h) {
        return projected([&](int64_t d) { return at(p("query_up/weight"), {d, n, h}); });
      };
      for (int64_t h = 0; h < kH; ++h) q[t][n][h] = head(h);
      for (int64_t e = 0; e < 2; ++e) q[t][n][kH + e] = turned(head(kH), head(kH + 1), t, e);
    }
  }
  for (int64_t t = 0; t < kT; ++t) {
    double result[8] = {};
    for (int64_t n = 0; n < kN; ++n) {
      double total = 0, weight[kT];
      for (int64_t s = 0; s <= t; ++s) {
        double logit = q[t][n][kH] * shared[s][0] + q[t][n][kH + 1] * shared[s][1];
        for (int64_t h = 0; h < kH; ++h) {
          for (int64_t r = 0; r < kR; ++r)
            logit += q[t][n][h] * latent[s][r] * at(p("key_up"), {r, n, h});
        }
        weight[s] = std::exp(logit / std::sqrt(5.0));
        total += weight[s];
      }
      for (int64_t v = 0; v < 4; ++v) {
        double value = 0;
        for (int64_t s = 0; s <= t; ++s) {
          for (int64_t r = 0; r < kR; ++r)
            value += weight[s] / total * latent[s][r] * at(p("value_up"), {r, n, v});
        }
        for (int64_t d = 0; d < 8; ++d) result[d] += value * at(p("output/weight"), {d, n, v});
      }
    }
    for (int64_t d = 0; d < 8; ++d) EXPECT_NEAR(at(y, {0, t, d}), result[d], 1e-5) << t;
  }
}

TEST(LatentAttention, CachesOnlyTheLatentVector) {
  auto layer = build_for_test<LatentAttention>(small(), kLatentDims);
  int64_t numbers = 0;
  for (const auto& [path, spec] : layer.layer().decode_state_specs({.max_len = 3})) {
    if (is_float(spec.type.dtype)) numbers += spec.type.num_elements();
  }
  EXPECT_EQ(numbers, 3 * (5 + 2)) << "kv_rank + rope_dim for each position";
}

// Products that round cannot be absorbed: decoding expands the latent vectors with them.
TEST(LatentAttention, RoundedProductsDecodeAsInTraining) {
  LatentAttention::Config cfg = small();
  cfg.key_product = Int8Product::Config{};
  testing::detail::law_decoding<LatentAttention>(kLatentDims, {{"rounded keys", cfg}});
  cfg.key_product = PlainProduct::Config{};
  cfg.value_product = Int8Product::Config{};
  testing::detail::law_decoding<LatentAttention>(kLatentDims, {{"rounded values", cfg}});
}

TEST(LatentAttention, QueryRankNeedsItsLayers) {
  LatentAttention::Config cfg = small();
  cfg.query_rank = 3;
  EXPECT_ERROR(build_for_test<LatentAttention>(cfg, kLatentDims),
               "latent_attention.query_down: expected a projection to query_rank, got none");
  cfg = small();
  cfg.query_down = Linear::Config{};
  EXPECT_ERROR(build_for_test<LatentAttention>(cfg, kLatentDims),
               "latent_attention.query_down: expected none without query_rank, got a projection");
  cfg = small();
  cfg.query_norm = RMSNorm::Config{};
  EXPECT_ERROR(build_for_test<LatentAttention>(cfg, kLatentDims),
               "latent_attention.query_norm: expected none without query_rank, got a norm");
}

TEST(LatentAttention, RopeDimMustBeEven) {
  LatentAttention::Config cfg = small();
  cfg.rope_dim = 3;
  EXPECT_ERROR(build_for_test<LatentAttention>(cfg, kLatentDims),
               "latent_attention.rope_dim: must be even, got 3");
}

}  // namespace
}  // namespace axle
