// Attention by blocks computes what attention at once does: values, gradients, and the same for
// every core, mask, bias and grouping of heads.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "config/register.h"
#include "config/set.h"
#include "ir/text/print.h"
#include "layers/attention/attention.h"
#include "layers/attention/biases/alibi.h"
#include "layers/attention/biases/shared_bias.h"
#include "layers/attention/biases/sum_of_biases.h"
#include "layers/attention/biases/t5_bias.h"
#include "layers/attention/caches/paged_kv_cache.h"
#include "layers/attention/cores/sigmoid_attention.h"
#include "layers/attention/cores/transformer_xl_attention.h"
#include "layers/attention/masks/combined_masks.h"
#include "layers/attention/masks/position_mask.h"
#include "layers/attention/masks/prefix_mask.h"
#include "layers/attention/masks/segment_mask.h"
#include "layers/attention/masks/sliding_window_mask.h"
#include "layers/attention/qkv/separate_qkv.h"
#include "nn/call_forms.h"
#include "nn/remat_policies.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "testing/gradient_check.h"
#include "testing/test_layer.h"
#include "transform/body.h"
#include "transform/grad.h"
#include "transform/simplify.h"

namespace axle {
namespace {

using testing::build_for_test;
using testing::normal_values;

constexpr int64_t kRows = 2, kTokens = 12;
constexpr Mixer::Dims kModel{.model_dim = 8};

Tensor of_other_parity(const Tensor& query_positions, const Tensor& key_positions) {
  const Tensor distance = query_positions - key_positions;
  return not_equal(distance / 2 * 2, distance);
}
AXLE_REGISTER(of_other_parity, "of_other_parity")

const PositionMask::Config kOtherParity{
    .sees = Fn<Tensor(const Tensor&, const Tensor&)>{"of_other_parity", &of_other_parity}};

// Expects the same values and gradients of all arguments, in f64.
void expect_same(Attention::Config cfg, const std::string& blocks,
                 const Tree<HostTensor>& context = {}, const testing::CallOptions& call = {}) {
  cfg.num_heads = 4;
  cfg.qkv = SeparateQKV::Config{};
  Tree<HostTensor> inputs = context;
  inputs.emplace("x", normal_values({kRows, kTokens, 8}, 3));
  const EvalOptions f64{.f64 = true};
  std::vector<HostTensor> results[2];
  for (const bool by_blocks : {false, true}) {
    if (by_blocks) set(cfg, "core.blocks", blocks);
    auto layer = build_for_test<Attention>(cfg, kModel);
    Tree<HostTensor> parameters;
    int seed = 1;
    for (const auto& [path, value] : layer.parameters())
      parameters.emplace(path, normal_values(value.shape(), seed++));
    layer.set_all(parameters);
    const testing::LayerFunction fn = layer.function(inputs, call);
    results[by_blocks] = eval(fn, fn.arguments(), f64);
    const HostTensor cotangent = normal_values({kRows, kTokens, 8}, 9);
    for (HostTensor& g : eval(testing::gradient_function(fn, {cotangent}), fn.arguments(), f64))
      results[by_blocks].push_back(std::move(g));
  }
  ASSERT_EQ(results[0].size(), results[1].size());
  for (size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_LT(testing::largest_difference(results[0][i], results[1][i]),
              1e-10 * std::max(1.0, testing::largest_element(results[0][i])))
        << "result " << i;
  }
}

// Blocks that do not divide the 12 tokens, that do, and one for all.
const std::vector<std::string> kBlocks = {
    "{from: 1, queries: 5, keys: 7}", "{from: 1, queries: 12, keys: 1}",
    "{from: 1, queries: 1, keys: 12}", "{from: 1, queries: 512, keys: 512}"};

// No device of its own for a share of the queries of a row; 2 and 4 shares.
const std::vector<std::string> kMeshes = {"", "data=2,seq=2,model=2", "seq=4"};

testing::CallOptions training_on(const std::string& mesh) {
  testing::CallOptions out{.training = true, .seed = 3};
  from_text(mesh, out.mesh);
  return out;
}

std::vector<std::pair<std::string, Child<AttentionCore>>> cores() {
  return {{"softmax", SoftmaxAttention::Config{}},
          {"all_options",
           SoftmaxAttention::Config{
               .scale = 0.3, .per_dim_scale = PerDimScale::Config{}, .logit_cap = 2, .sink = true}},
          {"sigmoid", SigmoidAttention::Config{.logit_cap = 3, .bias_len = 4}},
          {"transformer_xl", TransformerXLAttention::Config{}}};
}

TEST(AttentionBlocks, EveryCoreIsTheSame) {
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

TEST(AttentionBlocks, EveryMaskIsTheSame) {
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
            {"positions", kOtherParity, packed}};
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

TEST(AttentionBlocks, EveryBiasIsTheSame) {
  const T5Bias::Config t5{.num_buckets = 4, .max_distance = 6};
  for (const Child<LogitBias>& bias : std::vector<Child<LogitBias>>{
           ALiBi::Config{}, t5, SumOfBiases::Config{.biases = {ALiBi::Config{}, t5}},
           SharedBias::Config{.inner = t5}}) {
    for (const auto& [core_name, core] : cores()) {
      // Devices with shares of a bias's gradient have copies of its biases.
      for (const std::string& mesh : kMeshes) {
        SCOPED_TRACE(core_name + ", " + mesh);
        Attention::Config cfg{.num_kv_heads = 2, .core = core};
        cfg.bias = bias;
        expect_same(cfg, kBlocks[0], {}, training_on(mesh));
      }
    }
  }
}

TEST(AttentionBlocks, DroppedWeightsAreTheSame) {
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

// Returns the most elements of a value of the region or of a body in it.
int64_t largest_value(const Region& region) {
  int64_t out = 0;
  for (const OpNode* op : region.ops()) {
    for (const Type& type : op->outputs) out = std::max(out, type.num_elements());
    for (const auto& body : op->regions) out = std::max(out, largest_value(*body));
  }
  return out;
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

TEST(AttentionBlocks, NothingIsAsLargeAsAllScores) {
  EXPECT_GE(largest_value(*traced_gradient(CausalMask::Config{}, false)), 64 * 64 * 4);
  EXPECT_LT(largest_value(*traced_gradient(CausalMask::Config{}, true)), 64 * 64);
}

// No policy can keep what each pair of blocks computes.
TEST(AttentionBlocks, NoRematPolicyKeepsAllScores) {
  for (const Fn<RematPolicy()>& policy :
       {Fn<RematPolicy()>(SaveNothing{}), Fn<RematPolicy()>(SaveDots{}),
        Fn<RematPolicy()>(SaveEverything{}), Fn<RematPolicy()>(SaveNames{.names = {"*"}})}) {
    const LayerOptions options{.remat = policy};
    EXPECT_LT(largest_value(*traced_gradient(CausalMask::Config{}, true, options)), 64 * 64);
    EXPECT_GE(largest_value(*traced_gradient(CausalMask::Config{}, false, options)), 64 * 64 * 4);
  }
}

// The loop over pairs of blocks runs again, unless what the backward pass needs of it is kept.
TEST(AttentionBlocks, WhatIsKeptIsNotComputedTwice) {
  const auto loops = [](const SaveNames& policy) {
    return count_ops(*traced_gradient(CausalMask::Config{}, true, {.remat = policy}), "scan");
  };
  EXPECT_EQ(loops({.names = {"*_proj"}}), 3);
  EXPECT_EQ(loops({.names = {"*_proj", "attention_blocks", "attention_log_sum"}}), 2);
}

// Returns the sum of the squared differences, each relative to the largest element of `exact`.
double squared_error(const std::vector<HostTensor>& values, const std::vector<HostTensor>& exact) {
  double out = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double scale = testing::largest_element(exact[i]);
    for (int64_t j = 0; j < exact[i].size(); ++j) {
      const double difference = (values[i].at(j) - exact[i].at(j)) / scale;
      out += difference * difference;
    }
  }
  return out;
}

TEST(AttentionBlocks, InBf16AreNoFartherFromF64) {
  double errors[2] = {0, 0};
  for (const int64_t seed : {1, 2, 3, 4}) {
    for (const bool by_blocks : {false, true}) {
      Attention::Config cfg{.num_heads = 4, .num_kv_heads = 2, .qkv = SeparateQKV::Config{}};
      cfg.mask = CausalMask::Config{};
      set(cfg, "core.blocks", by_blocks ? "{from: 1, queries: 8, keys: 8}" : "{from: none}");
      auto layer = build_for_test<Attention>(cfg, kModel, {.dtype = DType::kBF16});
      Tree<HostTensor> parameters;
      int64_t number = 10 * seed;
      for (const auto& [path, value] : layer.parameters())
        parameters.emplace(path, normal_values(value.shape(), ++number).astype(value.dtype()));
      layer.set_all(parameters);
      const Shape shape = {1, 64, 8};
      const testing::LayerFunction fn =
          layer.function({{"x", normal_values(shape, seed).astype(DType::kBF16)}}, {});
      const TensorFunction gradient =
          testing::gradient_function(fn, {normal_values(shape, seed + 100).astype(DType::kBF16)});
      for (const TensorFunction& each : {TensorFunction(fn), gradient}) {
        errors[by_blocks] +=
            squared_error(eval(each, fn.arguments()), eval(each, fn.arguments(), {.f64 = true}));
      }
    }
  }
  EXPECT_GT(errors[0], 0);
  EXPECT_LE(errors[1], errors[0]);
}

// To 1e-6 beside what the plain form itself rounds.
TEST(AttentionBlocks, InF32AreAsExact) {
  for (const auto& [core_name, core] : cores()) {
    SCOPED_TRACE(core_name);
    std::vector<HostTensor> exact, results[2];
    for (const bool by_blocks : {false, true}) {
      Attention::Config cfg{.num_heads = 4, .num_kv_heads = 2, .qkv = SeparateQKV::Config{}};
      cfg.mask = CausalMask::Config{};
      cfg.core = core;
      set(cfg, "core.blocks", by_blocks ? "{from: 1, queries: 64, keys: 48}" : "{from: none}");
      auto layer = build_for_test<Attention>(cfg, kModel);
      const Shape shape = {1, 300, 8};
      const testing::LayerFunction fn = layer.function({{"x", normal_values(shape, 3)}}, {});
      const TensorFunction gradient = testing::gradient_function(fn, {normal_values(shape, 9)});
      const auto all = [&](const EvalOptions& how) {
        std::vector<HostTensor> out = eval(fn, fn.arguments(), how);
        for (HostTensor& g : eval(gradient, fn.arguments(), how)) out.push_back(std::move(g));
        return out;
      };
      results[by_blocks] = all({});
      if (!by_blocks) exact = all({.f64 = true});
    }
    for (size_t i = 0; i < exact.size(); ++i) {
      EXPECT_LT(testing::largest_difference(results[1][i], exact[i]),
                testing::largest_difference(results[0][i], exact[i]) +
                    1e-6 * std::max(1.0, testing::largest_element(exact[i])))
          << "result " << i;
    }
  }
}

// Chunks of 7 and 4 tokens: what a mask hides depends on places that no block of queries knows.
TEST(AttentionBlocks, DecodingIsTheSame) {
  const AnyOf::Config prefix_lm{.masks = {PrefixMask::Config{}, CausalMask::Config{}}};
  for (const Child<AttentionMask>& mask : std::vector<Child<AttentionMask>>{
           CausalMask::Config{}, prefix_lm, SlidingWindowMask::Config{.window = 3}}) {
    for (const Child<KVCache>& cache : std::vector<Child<KVCache>>{
             DenseKVCache::Config{}, PagedKVCache::Config{.page_size = 4}}) {
      std::vector<HostTensor> results[2];
      for (const bool by_blocks : {false, true}) {
        Attention::Config cfg{.num_heads = 4, .num_kv_heads = 2, .qkv = SeparateQKV::Config{}};
        cfg.mask = mask;
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
            positions.values<int32_t>()[static_cast<size_t>(i)] =
                begin + static_cast<int32_t>(i) % (end - begin);
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

// A bias that draws random numbers, may have a loss of its own, and depends on how many places there
// are.
class WholeBias : public LogitBias {
 public:
  struct Config {
    bool has_loss = true;
    AXLE_CONFIG(WholeBias, has_loss)
  };
  WholeBias(const Config& cfg, const Dims&, const Scope& scope)
      : LogitBias(scope), has_loss_(cfg.has_loss) {}

 protected:
  Tensor forward(const TokenPlaces& places) override {
    const int64_t num_queries = places.query_positions.dim(-2),
                  num_keys = places.key_positions.dim(-1);
    const Shape shape = {4, num_queries, num_keys};
    if (has_loss_) add_aux_loss("loss", full({}, static_cast<double>(num_queries)));
    return random::normal(Invocation::current().key(), shape, DType::kF32) *
           static_cast<double>(num_keys);
  }

 private:
  bool has_loss_;
};
AXLE_REGISTER(WholeBias)

// The same, but it says that it follows from the places alone.
class FalseBias final : public WholeBias {
 public:
  struct Config {
    bool has_loss = true;
    AXLE_CONFIG(FalseBias, has_loss)
  };
  FalseBias(const Config& cfg, const Dims& dims, const Scope& scope)
      : WholeBias({.has_loss = cfg.has_loss}, dims, scope) {}
  bool is_computed_by_blocks() const override { return true; }
};
AXLE_REGISTER(FalseBias)

TEST(AttentionBlocks, ABiasOfAllPlacesKeepsItsLossesAndRandomNumbers) {
  const auto run = [](const Child<LogitBias>& bias, const std::string& blocks) {
    Attention::Config cfg{.num_heads = 4, .qkv = SeparateQKV::Config{}, .bias = bias};
    cfg.mask = CausalMask::Config{};
    set(cfg, "core.blocks", blocks);
    auto layer = build_for_test<Attention>(cfg, kModel);
    const CallForms forms;
    auto result = layer.call({{"x", normal_values({1, kTokens, 8}, 3)}}, {.seed = 5});
    return std::tuple(std::move(result.outputs[0]), std::move(result.aux_losses),
                      forms.notes().at("attention/core"));
  };
  const auto [y, losses, form] = run(WholeBias::Config{}, "{from: none}");
  EXPECT_EQ(losses.at("attention/bias/loss"), HostTensor::scalar(12.0f));
  const auto [y_blocks, losses_blocks, form_blocks] = run(WholeBias::Config{}, kBlocks[0]);
  EXPECT_THAT(form_blocks, ::testing::StartsWith("by blocks: "));
  EXPECT_THAT(form_blocks, ::testing::EndsWith("; the bias is computed for all at once"));
  EXPECT_LT(testing::largest_difference(y, y_blocks), 1e-5);
  EXPECT_EQ(losses_blocks, losses);
  const auto [y_false, losses_false, form_false] = run(FalseBias::Config{}, kBlocks[0]);
  EXPECT_EQ(form_false,
            "at once: a layer inside of the core has losses, statistics or values to keep");
  EXPECT_EQ(y_false, y);
  EXPECT_EQ(losses_false, losses);
  const auto [y_random, _, form_random] = run(FalseBias::Config{.has_loss = false}, kBlocks[0]);
  EXPECT_EQ(form_random, "at once: a layer inside of the core draws random numbers");
  EXPECT_EQ(y_random, y);
}

// All logits are negative: what fills up the last blocks, with logits of 0, must not count.
TEST(AttentionBlocks, TheLargestLogitIsTheSame) {
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
