// Biases of attention by blocks: what follows from positions is computed for each block, the rest
// for all positions at once.
#include <fmt/format.h>

#include <limits>

#include "config/register.h"
#include "layers/attention/biases/distance_biases.h"
#include "layers/attention/biases/logit_bias.h"
#include "layers/attention/cores/blocks_test.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "nn/layer_role.h"
#include "nn/remat_policies.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "ops/reductions/reductions.h"
#include "transform/grad.h"
#include "transform/simplify.h"

namespace axle {
namespace {

using namespace blocks_test;

const T5Bias::Config kT5Bias{.num_buckets = 4, .max_distance = 6};

TEST(AttentionBlocks, BiasesGiveTheSameResults) {
  for (const Child<LogitBias>& bias : std::vector<Child<LogitBias>>{
           ALiBi::Config{}, kT5Bias, SumOfBiases::Config{.biases = {ALiBi::Config{}, kT5Bias}},
           SharedBias::Config{.inner = ALiBi::Config{}},
           SumOfBiases::Config{
               .biases = {ALiBi::Config{}, SharedBias::Config{.inner = kT5Bias}}}}) {
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

// More keys than queries, and fewer; some of another segment.
TEST(AttentionBlocks, CrossAttentionGivesTheSameResults) {
  for (const int64_t num_keys : {20, 8}) {
    HostTensor segments(Type{DType::kI32, {kRows, num_keys}});
    for (int64_t i = 0; i < segments.size(); ++i)
      segments.values<int32_t>()[i] = i % num_keys < 3 ? 2 : 1;
    const Tree<HostTensor> inputs{
        {"published/source", normal_values({kRows, num_keys, 8}, 4)},
        {"published/source/segments", segments},
        {"context/segment_ids", HostTensor::ones({kRows, kTokens}, DType::kI32)}};
    for (const Child<LogitBias>& bias : std::vector<Child<LogitBias>>{
             ALiBi::Config{}, kT5Bias, SharedBias::Config{.inner = kT5Bias}}) {
      for (const auto& [core_name, core] : cores()) {
        for (const std::string& mesh : kMeshes) {
          SCOPED_TRACE(fmt::format("{} keys, {}, {}", num_keys, core_name, mesh));
          Attention::Config cfg{.num_kv_heads = 2, .qkv = SourceQKV::Config{}, .core = core};
          cfg.bias = bias;
          expect_same(cfg, kBlocks[0], inputs, training_on(mesh));
        }
      }
    }
  }
}

// Fewer or more keys than queries under masks of positions.
TEST(AttentionBlocks, MasksOfCrossAttentionGiveTheSameResults) {
  const AnyOf::Config either{.masks = {SlidingWindowMask::Config{.window = 2},
                                       TwoSidedWindowMask::Config{.before = 1, .after = 5}}};
  for (const int64_t num_keys : {20, 8}) {
    const Tree<HostTensor> inputs{{"published/source", normal_values({kRows, num_keys, 8}, 4)}};
    int number = 0;
    for (const Child<AttentionMask>& mask : std::vector<Child<AttentionMask>>{
             CausalMask::Config{}, SlidingWindowMask::Config{.window = 3},
             TwoSidedWindowMask::Config{.before = 2, .after = 4}, either}) {
      for (const std::string& mesh : kMeshes) {
        SCOPED_TRACE(fmt::format("{} keys, mask {}, {}", num_keys, number, mesh));
        Attention::Config cfg{.num_kv_heads = 2, .qkv = SourceQKV::Config{}, .mask = mask};
        expect_same(cfg, kBlocks[0], inputs, training_on(mesh));
      }
      ++number;
    }
  }
}

// Three layers with the bias of the first, as in T5; the last two are a loop and computed again.
Stacked::Config layers_with_one_bias(const std::string& blocks) {
  const auto layer = [&](const Child<LogitBias>& bias) {
    Attention::Config attention{.num_heads = 4, .qkv = SeparateQKV::Config{}, .bias = bias};
    attention.mask = CausalMask::Config{};
    set(attention, "core.blocks", blocks);
    return Child<Block>(PreNorm::Config{.body = attention});
  };
  Repeat::Config later{.num_layers = 2, .layer = layer(BorrowedBias::Config{})};
  later.layer.options.remat = SaveNothing{};
  return {.num_layers = 2, .layers = {layer(SharedBias::Config{.inner = kT5Bias}), later}};
}

TEST(AttentionBlocks, SharedBiasGivesTheSameResults) {
  for (const std::string& mesh : kMeshes) {
    SCOPED_TRACE(mesh);
    std::vector<HostTensor> results[2];
    for (const bool by_blocks : {false, true}) {
      auto layers = build_for_test<Stacked>(
          layers_with_one_bias(by_blocks ? kBlocks[0] : "{from: none}"), kModel);
      layers.set("layer0/body/bias/inner/weight", normal_values({4, 4}, 7));
      const testing::LayerFunction fn =
          layers.function({{"x", normal_values({kRows, kTokens, 8}, 3)}}, training_on(mesh));
      const CallForms forms;
      results[by_blocks] = eval(fn, fn.arguments(), {.f64 = true});
      for (const auto& [path, form] : forms.notes())
        EXPECT_THAT(form, ::testing::StartsWith(by_blocks ? "by blocks: " : "at once: ")) << path;
      const TensorFunction gradient =
          testing::gradient_function(fn, {normal_values({kRows, kTokens, 8}, 9)});
      for (HostTensor& g : eval(gradient, fn.arguments(), {.f64 = true}))
        results[by_blocks].push_back(std::move(g));
    }
    ASSERT_EQ(results[0].size(), results[1].size());
    for (size_t i = 0; i < results[0].size(); ++i)
      EXPECT_LT(testing::largest_difference(results[0][i], results[1][i]), 1e-10) << i;
  }
}

TEST(AttentionBlocks, SharedBiasIsNeverComputedWhole) {
  const auto largest = [](const std::string& blocks) {
    auto layers = build_for_test<Stacked>(layers_with_one_bias(blocks), kModel);
    const testing::LayerFunction fn = layers.function({{"x", normal_values({1, 64, 8}, 3)}}, {});
    std::vector<Type> types;
    for (const HostTensor& x : fn.arguments()) types.push_back(x.type());
    const TensorFunction gradient = testing::gradient_function(fn, {normal_values({1, 64, 8}, 9)});
    return largest_value(*simplify(*trace(gradient, types)));
  };
  EXPECT_LT(largest("{from: 1, queries: 8, keys: 8}"), 64 * 64);
  EXPECT_GE(largest("{from: none}"), 64 * 64 * 4);
}

// Statistics are of the biases of all positions, whichever layer has them; its gradient is added
// up by blocks.
TEST(AttentionBlocks, StatisticsOfABiasAreUnchanged) {
  const auto with_stats = [](Child<LogitBias> bias) {
    bias.options.stats = {Rms{}, MaxAbs{}};
    return bias;
  };
  for (const Child<LogitBias>& bias : std::vector<Child<LogitBias>>{
           with_stats(kT5Bias), with_stats(ALiBi::Config{}),
           with_stats(SumOfBiases::Config{.biases = {ALiBi::Config{}, kT5Bias}}),
           SumOfBiases::Config{.biases = {with_stats(ALiBi::Config{}), kT5Bias}},
           with_stats(SharedBias::Config{.inner = kT5Bias}),
           SharedBias::Config{.inner = with_stats(kT5Bias)}}) {
    Tree<HostTensor> summaries[2];
    Attention::Config cfg{.num_heads = 4, .qkv = SeparateQKV::Config{}, .bias = bias};
    for (const bool by_blocks : {false, true}) {
      set(cfg, "core.blocks", by_blocks ? kBlocks[0] : "{from: none}");
      auto layer = build_for_test<Attention>(cfg, kModel);
      const CallForms forms;
      summaries[by_blocks] = layer.call({{"x", normal_values({kRows, kTokens, 8}, 3)}}).summaries;
      EXPECT_THAT(forms.notes().at("attention/core"),
                  ::testing::StartsWith(by_blocks ? "by blocks: " : "at once: "));
    }
    int num_of_bias = 0;
    ASSERT_EQ(summaries[0].size(), summaries[1].size());
    for (const auto& [path, value] : summaries[0]) {
      num_of_bias += path.starts_with("attention/bias");
      EXPECT_LT(testing::largest_difference(summaries[1].at(path), value), 1e-6) << path;
    }
    EXPECT_EQ(num_of_bias, 2);
    cfg.num_kv_heads = 4;
    expect_same(cfg, kBlocks[0]);
  }
}

// Hides keys by -inf: later ones, and those far before.
class HidingBias final : public LogitBias {
 public:
  struct Config {
    bool is_of_positions = true;
    AXLE_CONFIG(HidingBias, is_of_positions)
  };
  HidingBias(const Config& cfg, const Dims&, const Scope& scope)
      : LogitBias(scope), is_of_positions_(cfg.is_of_positions) {}

 protected:
  Tensor forward(const TokenPositions& positions) override {
    const Tensor distance = positions.query_positions - positions.key_positions;
    const Tensor is_near = distance * (3 - distance) >= 0;
    const Tensor out =
        select(is_near, astype(distance, DType::kF32), -std::numeric_limits<double>::infinity());
    return broadcast_to(out, {4, distance.dim(-2), distance.dim(-1)});
  }
  BiasDependence own_dependence(const TokenPositions&) const override {
    return is_of_positions_ ? BiasDependence::kPositions : BiasDependence::kAll;
  }

 private:
  bool is_of_positions_;
};
AXLE_REGISTER(HidingBias)

TEST(AttentionBlocks, ABiasMayHideKeysByMinusInfinity) {
  for (const bool is_of_positions : {true, false}) {
    for (const auto& [core_name, core] : cores()) {
      for (const std::string& blocks : kBlocks) {
        SCOPED_TRACE(fmt::format("{}, {}, {}", core_name, blocks, is_of_positions));
        Attention::Config cfg{.num_kv_heads = 2, .core = core};
        cfg.bias = HidingBias::Config{.is_of_positions = is_of_positions};
        expect_same(cfg, blocks);
      }
    }
  }
}

// A bias that draws random numbers, may have a loss of its own, and depends on how many positions
// there are.
class WholeBias : public LogitBias {
 public:
  struct Config {
    bool has_loss = true;
    AXLE_CONFIG(WholeBias, has_loss)
  };
  WholeBias(const Config& cfg, const Dims&, const Scope& scope)
      : LogitBias(scope), has_loss_(cfg.has_loss) {}

 protected:
  Tensor forward(const TokenPositions& positions) override {
    const int64_t num_queries = positions.query_positions.dim(-2),
                  num_keys = positions.key_positions.dim(-1);
    const Shape shape = {4, num_queries, num_keys};
    if (has_loss_) add_aux_loss("loss", full({}, static_cast<double>(num_queries)));
    return random::normal(Invocation::current().key(), shape, DType::kF32) *
           static_cast<double>(num_keys);
  }

 private:
  bool has_loss_;
};
AXLE_REGISTER(WholeBias)

// The same, but it says that it follows from the positions alone.
class FalseBias final : public WholeBias {
 public:
  struct Config {
    bool has_loss = true;
    AXLE_CONFIG(FalseBias, has_loss)
  };
  FalseBias(const Config& cfg, const Dims& dims, const Scope& scope)
      : WholeBias({.has_loss = cfg.has_loss}, dims, scope) {}

 protected:
  BiasDependence own_dependence(const TokenPositions&) const override {
    return BiasDependence::kPositions;
  }
};
AXLE_REGISTER(FalseBias)

TEST(AttentionBlocks, BiasesWithLossesOrRandomNumbersAreComputedAtOnce) {
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
  const auto [y_random, none, form_random] = run(FalseBias::Config{.has_loss = false}, kBlocks[0]);
  EXPECT_EQ(form_random, "at once: a layer inside of the core draws random numbers");
  EXPECT_EQ(y_random, y);
}

// Its scores are random, so that blocks give up after the bias was evaluated.
class RandomCore final : public ScoredCore {
 public:
  struct Config {
    std::optional<Positive<double>> scale = {}, logit_cap = {};
    std::optional<Child<PerDimScale>> per_dim_scale = {};
    std::optional<Child<Dropout>> dropout = {};
    AttentionBlocks blocks = {};
    AXLE_CONFIG(RandomCore, scale, logit_cap, per_dim_scale, dropout, blocks)
  };
  RandomCore(const Config& cfg, const Dims& dims, const Scope& scope)
      : ScoredCore(cfg, dims, scope) {}

 protected:
  Weights kind_of_weights() const override { return Weights::kSoftmax; }
  Tensor weights(const Tensor& logits, const HeadGroups&, DType result) override {
    return softmax(logits, -1, result);
  }
  Tensor position_scores(const Tensor&, const Visibility& visibility) override {
    const TokenPositions& at = visibility.positions;
    return random::normal(Invocation::current().key(),
                          {4, at.query_positions.dim(-2), at.key_positions.dim(-1)}, DType::kF32);
  }
};
AXLE_REGISTER(RandomCore)

TEST(AttentionBlocks, BiasIsEvaluatedOnceIfBlocksAreNotUsed) {
  const auto run = [](std::optional<Positive<int64_t>> from) {
    Attention::Config cfg{
        .num_heads = 4, .qkv = SeparateQKV::Config{}, .bias = WholeBias::Config{}};
    cfg.core = RandomCore::Config{.blocks = {.from = from, .queries = 5, .keys = 7}};
    auto layer = build_for_test<Attention>(cfg, kModel);
    const CallForms forms;
    auto result = layer.call({{"x", normal_values({1, kTokens, 8}, 3)}}, {.seed = 5});
    return std::tuple(std::move(result.outputs[0]), std::move(result.aux_losses),
                      forms.notes().at("attention/core"));
  };
  const auto [y, losses, form] = run(std::nullopt);
  EXPECT_EQ(losses.size(), 1);
  EXPECT_EQ(run(1),
            std::tuple(y, losses, "at once: a layer inside of the core draws random numbers"));
}

// The table of another length would return the bias of other distances.
TEST(AttentionBlocks, BorrowedBiasNeedsThePositionsOfItsOwner) {
  auto layer = build_for_test<Attention>(
      {.num_heads = 4, .qkv = SeparateQKV::Config{}, .bias = BorrowedBias::Config{}}, kModel);
  const auto call = [&](int64_t num_heads, int64_t num_distances) {
    layer.call({{"x", normal_values({1, kTokens, 8}, 3)},
                {"published/bias", HostTensor::ones({1, num_heads, num_distances})}});
  };
  call(4, 2 * kTokens - 1);
  EXPECT_ERROR(
      call(4, 21),
      "attention.bias: expected a bias 'bias' of the same queries and keys, f32[1, N, 23] "
      "by distance, got f32[1, 4, 21]; a layer with other positions needs a bias of its own");
  EXPECT_THROW(call(1, 23), ShapeError);
  EXPECT_THROW(call(2, 23), ShapeError);
}

}  // namespace
}  // namespace axle
