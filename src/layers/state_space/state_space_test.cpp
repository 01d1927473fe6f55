#include <gmock/gmock.h>

#include <array>

#include "layers/attention/qkv/qkv.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/state_space/linear_attention.h"
#include "layers/state_space/mamba.h"
#include "nn/layer_role.h"
#include "ops/products/products.h"
#include "testing/gradient_check.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;
using testing::TestLayer;

constexpr MixerDims kSSMDims{.model_dim = 4};

const Mamba2::Config kMamba2{.head_dim = 2, .state_dim = 3, .num_groups = 2, .chunk_size = 2};
const Mamba1::Config kMamba1{.state_dim = 3, .chunk_size = 2};
const LinearAttention::Config kLinear{.num_heads = 2, .chunk_size = 3};

AXLE_LAYER_LAWS(Mamba2, kSSMDims, {{"small", kMamba2}})
AXLE_LAYER_LAWS(Mamba1, kSSMDims, {{"small", kMamba1}})
AXLE_LAYER_LAWS(LinearAttention, kSSMDims,
                {{"normalised", kLinear},
                 {"plain",
                  {.num_heads = 2,
                   .qkv = SeparateQKV::Config{},
                   .features = {"softmax_features", &softmax_features},
                   .normalise = false,
                   .chunk_size = 1}}})

const RAttention::Config kRAttention{
    .num_heads = 2, .num_kv_heads = 1, .window = 1, .qkv = SeparateQKV::Config{}, .chunk_size = 2};
RAttention::Config rattention_by_blocks() {
  RAttention::Config out = kRAttention;
  out.core = SoftmaxAttention::Config{.blocks = {.from = 1, .queries = 2, .keys = 3}};
  return out;
}
AXLE_LAYER_LAWS(RAttention, kSSMDims,
                {{"small", kRAttention}, {"by_blocks", rattention_by_blocks()}})

TEST(RAttention, BlocksGiveTheSameResults) {
  std::vector<HostTensor> results[2];
  for (const bool by_blocks : {false, true}) {
    auto layer =
        build_for_test<RAttention>(by_blocks ? rattention_by_blocks() : kRAttention, kSSMDims);
    const HostTensor x = testing::normal_values({2, 9, kSSMDims.model_dim}, 3);
    const testing::LayerFunction fn = layer.function({{"x", x}}, {.training = true});
    const CallForms forms;
    results[by_blocks] = eval(fn, fn.arguments(), {.f64 = true});
    ASSERT_EQ(forms.notes().size(), 1u);
    EXPECT_THAT(forms.notes().begin()->second,
                ::testing::StartsWith(by_blocks ? "by blocks: " : "at once: "));
    for (HostTensor& g : eval(testing::gradient_function(fn, {x}), fn.arguments(), {.f64 = true}))
      results[by_blocks].push_back(std::move(g));
  }
  for (size_t i = 0; i < results[0].size(); ++i)
    EXPECT_ALLCLOSE(results[1][i], results[0][i], 1e-10) << "result " << i;
}

double softplus(double x) { return std::log1p(std::exp(x)); }
double silu(double x) { return x / (1 + std::exp(-x)); }

// A tensor read by indices.
double at(const HostTensor& x, std::initializer_list<int64_t> index) {
  int64_t flat = 0, d = 0;
  for (const int64_t i : index) flat = flat * x.shape()[d++] + i;
  return x.at(flat);
}

// Runs the recurrence of its definition, token by token, and compares with every chunk size.
TEST(ChunkedRecurrence, EqualsTheRecurrence) {
  constexpr int64_t kB = 2, kT = 7, kG = 2, kR = 2, kN = 3, kP = 2;
  HostTensor decay = normal_values({kB, kT, kG, kR}, 1);
  for (float& v : decay.values<float>()) v = -std::abs(v);
  const HostTensor b = normal_values({kB, kT, kG, kN}, 2), c = normal_values({kB, kT, kG, kN}, 3),
                   x = normal_values({kB, kT, kG, kR, kP}, 4);
  const HostTensor segments({kB, kT}, {1, 1, 1, 2, 2, 2, 3, 1, 2, 2, 2, 2, 2, 2});
  for (const bool has_segments : {false, true}) {
    for (const int64_t chunk : {1, 2, 3, 7, 100}) {
      const std::vector<HostTensor> y = eval(
          [&](const Values& v) {
            TokenStream tokens;
            if (has_segments) tokens.segments_BT = v[4];
            const RecurrenceResult r = chunked_recurrence({v[0], v[1], v[2], v[3]}, tokens, chunk);
            return Values{r.y_BTGRP, r.state.h_BGRNP};
          },
          {decay, b, c, x, segments});
      for (int64_t row = 0; row < kB; ++row) {
        for (int64_t g = 0; g < kG; ++g) {
          for (int64_t r = 0; r < kR; ++r) {
            for (int64_t p = 0; p < kP; ++p) {
              double h[kN] = {};
              for (int64_t t = 0; t < kT; ++t) {
                double out = 0;
                const bool restarts =
                    has_segments && t > 0 && at(segments, {row, t}) != at(segments, {row, t - 1});
                for (int64_t n = 0; n < kN; ++n) {
                  h[n] = (restarts ? 0 : std::exp(at(decay, {row, t, g, r})) * h[n]) +
                         at(b, {row, t, g, n}) * at(x, {row, t, g, r, p});
                  out += at(c, {row, t, g, n}) * h[n];
                }
                EXPECT_NEAR(at(y[0], {row, t, g, r, p}), out, 1e-5) << chunk << ", token " << t;
              }
              for (int64_t n = 0; n < kN; ++n)
                EXPECT_NEAR(at(y[1], {row, g, r, n, p}), h[n], 1e-5) << chunk;
            }
          }
        }
      }
    }
  }
}

TEST(ShortConv, IsACausalFilterOfEachChannel) {
  auto conv = build_for_test<ShortConv>({.width = 3}, {.channels = 2});
  const HostTensor x = normal_values({1, 5, 2}, 1);
  const HostTensor y =
      conv.call({{"x", x}, {"context/segment_ids", HostTensor({1, 5}, {1, 1, 1, 2, 2})}})
          .outputs[0];
  const HostTensor &w = conv.parameter("weight"), &bias = conv.parameter("bias");
  for (int64_t t = 0; t < 5; ++t) {
    for (int64_t c = 0; c < 2; ++c) {
      double expected = bias.at(c);
      for (int64_t back = 0; back < 3; ++back) {
        if (t - back >= (t < 3 ? 0 : 3)) expected += at(w, {2 - back, c}) * at(x, {0, t - back, c});
      }
      EXPECT_NEAR(at(y, {0, t, c}), expected, 1e-6) << t;
    }
  }
}

HostTensor product(const HostTensor& x, const HostTensor& weight) {
  return eval([](const Values& v) { return Values{einsum("btd,df->btf", v[0], v[1])}; },
              {x, weight})[0];
}

// The published formulas, one token after another.
TEST(Mamba2, EqualsItsDefinition) {
  auto layer = build_for_test<Mamba2>(kMamba2, kSSMDims);
  const HostTensor x = normal_values({1, 5, 4}, 1);
  const auto p = [&](const char* name) { return layer.parameter(name); };
  const HostTensor gate = product(x, p("gate/weight")), step = product(x, p("step/weight"));
  TestLayer<ShortConv> conv({}, {.channels = 8 + 2 * 2 * 3});
  conv.set("weight", p("conv/weight")).set("bias", p("conv/bias"));
  const HostTensor mixed = conv.run(product(x, p("input/weight")));
  HostTensor gated = HostTensor::zeros({1, 5, 8});
  for (int64_t head = 0; head < 4; ++head) {
    const int64_t group = head / 2;
    double h[3][2] = {};
    for (int64_t t = 0; t < 5; ++t) {
      const double dt = softplus(at(step, {0, t, head}) + p("step_bias").at(head));
      for (int64_t e = 0; e < 2; ++e) {
        const double in = silu(at(mixed, {0, t, 2 * head + e}));
        double y = p("skip").at(head) * in;
        for (int64_t n = 0; n < 3; ++n) {
          h[n][e] = std::exp(-dt * std::exp(p("decay").at(head))) * h[n][e] +
                    dt * silu(at(mixed, {0, t, 8 + 3 * group + n})) * in;
          y += silu(at(mixed, {0, t, 14 + 3 * group + n})) * h[n][e];
        }
        gated.values<float>()[t * 8 + 2 * head + e] =
            static_cast<float>(y * silu(at(gate, {0, t, 2 * head + e})));
      }
    }
  }
  TestLayer<RMSNorm> norm({}, {.input_dim = 8});
  norm.set("scale", p("norm/scale"));
  EXPECT_ALLCLOSE(layer.run(x), product(norm.run(gated), p("output/weight")), 1e-5);
}

TEST(Mamba1, EqualsItsDefinition) {
  auto layer = build_for_test<Mamba1>(kMamba1, kSSMDims);
  const HostTensor x = normal_values({1, 5, 4}, 1);
  const auto p = [&](const char* name) { return layer.parameter(name); };
  const HostTensor gate = product(x, p("gate/weight"));
  TestLayer<ShortConv> conv({}, {.channels = 8});
  conv.set("weight", p("conv/weight")).set("bias", p("conv/bias"));
  HostTensor mixed = conv.run(product(x, p("input/weight")));
  for (float& v : mixed.values<float>()) v = static_cast<float>(silu(v));
  const HostTensor selected = product(mixed, p("select/weight"));  // step rank 1, then b and c
  HostTensor gated = HostTensor::zeros({1, 5, 8});
  for (int64_t f = 0; f < 8; ++f) {
    double h[3] = {};
    for (int64_t t = 0; t < 5; ++t) {
      const double dt =
          softplus(at(selected, {0, t, 0}) * p("step/weight").at(f) + p("step_bias").at(f));
      double y = p("skip").at(f) * at(mixed, {0, t, f});
      for (int64_t n = 0; n < 3; ++n) {
        h[n] = std::exp(-dt * std::exp(at(p("decay"), {f, n}))) * h[n] +
               dt * at(selected, {0, t, 1 + n}) * at(mixed, {0, t, f});
        y += at(selected, {0, t, 4 + n}) * h[n];
      }
      gated.values<float>()[t * 8 + f] = static_cast<float>(y * silu(at(gate, {0, t, f})));
    }
  }
  EXPECT_ALLCLOSE(layer.run(x), product(gated, p("output/weight")), 1e-5);
}

TEST(LinearAttention, WeighsEarlierTokensByTheirFeatures) {
  auto layer = build_for_test<LinearAttention>(
      {.num_heads = 1, .qkv = SeparateQKV::Config{}, .chunk_size = 2}, kSSMDims);
  const HostTensor x = normal_values({1, 5, 4}, 1);
  const auto projected = [&](const char* name) {
    const HostTensor& weight = layer.parameter(name);
    return product(x, HostTensor({4, 4}, weight.values<float>()));
  };
  const HostTensor q = projected("qkv/q_proj/weight"), k = projected("qkv/k_proj/weight"),
                   v = projected("qkv/v_proj/weight");
  const auto phi = [](double a) { return a > 0 ? a + 1 : std::exp(a); };
  HostTensor mixed = HostTensor::zeros({1, 5, 4});
  for (int64_t t = 0; t < 5; ++t) {
    double total = 0, sums[4] = {};
    for (int64_t s = 0; s <= t; ++s) {
      double weight = 0;
      for (int64_t h = 0; h < 4; ++h) weight += phi(at(q, {0, t, h})) * phi(at(k, {0, s, h}));
      total += weight;
      for (int64_t h = 0; h < 4; ++h) sums[h] += weight * at(v, {0, s, h});
    }
    for (int64_t h = 0; h < 4; ++h)
      mixed.values<float>()[4 * t + h] = static_cast<float>(sums[h] / total);
  }
  const HostTensor out = layer.parameter("output/weight");  // [D, N, H]
  const HostTensor transposed =
      eval([](const Values& w) { return Values{einsum("dnh->hd", w[0])}; }, {out})[0];
  EXPECT_ALLCLOSE(layer.run(x), product(mixed, transposed), 1e-5);
}

TEST(FeatureMaps, SoftmaxIsOverTheHead) {
  const HostTensor x = normal_values({2, 3, 4}, 1);
  const HostTensor y = eval([](const Values& v) { return Values{softmax_features(v[0])}; }, {x})[0];
  for (int64_t row = 0; row < 6; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < 4; ++i) sum += std::exp(x.at(4 * row + i));
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_NEAR(y.at(4 * row + i), std::exp(x.at(4 * row + i)) / sum, 1e-6) << row;
  }
}

// Heads of two numbers, for each token and head.
using Heads = std::vector<std::array<std::array<double, 2>, 2>>;

std::array<double, 2> softmax_of(const std::array<double, 2>& x) {
  const double a = std::exp(x[0]), b = std::exp(x[1]);
  return {a / (a + b), b / (a + b)};
}
double dot(const std::array<double, 2>& a, const std::array<double, 2>& b) {
  return a[0] * b[0] + a[1] * b[1];
}

// Softmax inside the window, the sum of feature products before it, both within the segment.
TEST(RAttention, EqualsItsDefinition) {
  constexpr int64_t kT = 7, kWindow = 1;
  auto layer = build_for_test<RAttention>(kRAttention, kSSMDims);
  const HostTensor x = normal_values({1, kT, 4}, 1), segments({1, kT}, {1, 1, 1, 1, 1, 2, 2});
  const auto projected = [&](const std::string& name) {
    const HostTensor y =
        eval([](const Values& v) { return Values{einsum("btd,dnh->btnh", v[0], v[1])}; },
             {x, layer.parameter("qkv/" + name + "/weight")})[0];
    Heads out(kT);
    for (int64_t t = 0; t < kT; ++t) {
      for (int64_t n = 0; n < 2; ++n) {  // one head of keys and values serves both of queries
        for (int64_t h = 0; h < 2; ++h)
          out[t][n][h] = at(y, {0, t, std::min(n, y.shape()[2] - 1), h});
      }
    }
    return out;
  };
  const auto normed = [&](std::array<double, 2> y, const std::string& name) {
    const double rms = std::sqrt(dot(y, y) / 2 + RMSNorm::Config{}.eps);
    for (int64_t h = 0; h < 2; ++h) y[h] *= layer.parameter(name + "/scale").at(h) / rms;
    return y;
  };
  const Heads q = projected("q_proj"), k = projected("k_proj"), v = projected("v_proj");
  const HostTensor y = layer.call({{"x", x}, {"context/segment_ids", segments}}).outputs[0];
  for (int64_t t = 0; t < kT; ++t) {
    double expected[4] = {};
    for (int64_t n = 0; n < 2; ++n) {
      std::array<double, 2> local{}, memory{};
      double total = 0;
      for (int64_t s = 0; s <= t; ++s) {
        if (at(segments, {0, s}) != at(segments, {0, t})) continue;
        const bool is_near = t - s <= kWindow;
        const double weight = is_near ? std::exp(dot(q[t][n], k[s][n]) / std::sqrt(2.0))
                                      : dot(softmax_of(q[t][n]), softmax_of(k[s][n]));
        if (is_near) total += weight;
        for (int64_t h = 0; h < 2; ++h) (is_near ? local : memory)[h] += weight * v[s][n][h];
      }
      for (double& l : local) l /= total;
      const auto near = normed(local, "local_norm"), far = normed(memory, "memory_norm");
      for (int64_t d = 0; d < 4; ++d) {
        for (int64_t h = 0; h < 2; ++h)
          expected[d] += (near[h] + far[h]) * at(layer.parameter("output/weight"), {d, n, h});
      }
    }
    for (int64_t d = 0; d < 4; ++d) EXPECT_NEAR(at(y, {0, t, d}), expected[d], 1e-5) << t;
  }
}

// With a window as long as the text nothing leaves it; the memory adds the norm of zeros.
TEST(RAttention, EqualsAttentionIfTheWindowCoversTheText) {
  RAttention::Config cfg = kRAttention;
  cfg.window = 10;
  auto layer = build_for_test<RAttention>(cfg, kSSMDims);
  const HostTensor x = normal_values({1, 5, 4}, 1), before = layer.run(x);
  HostTensor changed = x;
  for (int64_t i = 0; i < 4; ++i) changed.values<float>()[i] += 1;
  EXPECT_GT(testing::largest_difference(before, layer.run(changed)), 0.01);
  layer.set("memory_norm/scale", HostTensor::zeros({2}));
  EXPECT_EQ(layer.run(x), before);
}

// The first token reaches the last one only through the memory.
TEST(RAttention, RemembersWhatHasLeftTheWindow) {
  auto layer = build_for_test<RAttention>(kRAttention, kSSMDims);
  const HostTensor x = normal_values({1, 6, 4}, 1);
  HostTensor changed = x;
  for (int64_t i = 0; i < 4; ++i) changed.values<float>()[i] += 1;
  const auto last_token_moves = [&] {
    const auto last = [](const HostTensor& y) { return testing::detail::tokens_from(y, {5}, 1); };
    return testing::largest_difference(last(layer.run(x)), last(layer.run(changed)));
  };
  EXPECT_GT(last_token_moves(), 1e-3);
  layer.set("memory_norm/scale", HostTensor::zeros({2}));
  EXPECT_EQ(last_token_moves(), 0);
}

// Segments in a packed row return what each text returns alone.
template <class L>
void expect_segments_apart(const typename L::Config& cfg) {
  TestLayer<L> layer(cfg, kSSMDims);
  const HostTensor x = normal_values({1, 7, 4}, 1);
  const HostTensor packed =
      layer.call({{"x", x}, {"context/segment_ids", HostTensor({1, 7}, {1, 1, 1, 2, 2, 2, 2})}})
          .outputs[0];
  const auto tokens = [](const HostTensor& all, int64_t from, int64_t n) {
    return testing::detail::tokens_from(all, {from}, n);
  };
  EXPECT_ALLCLOSE(tokens(packed, 0, 3), layer.run(tokens(x, 0, 3)), 1e-5);
  EXPECT_ALLCLOSE(tokens(packed, 3, 4), layer.run(tokens(x, 3, 4)), 1e-5);
}
TEST(Mixers, KeepSegmentsApart) {
  expect_segments_apart<Mamba1>(kMamba1);
  expect_segments_apart<Mamba2>(kMamba2);
  expect_segments_apart<LinearAttention>(kLinear);
  expect_segments_apart<RAttention>(kRAttention);
}

TEST(Mamba2, RefusesSizesThatDoNotDivide) {
  EXPECT_ERROR(build_for_test<Mamba2>({.head_dim = 3}, kSSMDims),
               "mamba2.head_dim: must divide the inner dim, expand * model dim, got 3 and 8");
  EXPECT_ERROR(build_for_test<Mamba2>({.head_dim = 2, .num_groups = 3}, kSSMDims),
               "mamba2.num_groups: must divide the number of heads, got 3 and 4");
}

}  // namespace
}  // namespace axle
