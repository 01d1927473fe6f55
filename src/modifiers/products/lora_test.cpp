#include <gmock/gmock.h>

#include "layers/attention/latent_attention.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "layers/dense/linear.h"
#include "layers/experts/dispatch.h"
#include "layers/experts/moe.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/models/causal_lm.h"
#include "layers/state_space/mamba.h"
#include "modifiers/products/product_modifiers.h"
#include "modifiers/tiny_step_test.h"
#include "testing/error_of.h"
#include "testing/layer_laws.h"

namespace axle {
namespace {

using testing::call_layer;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::jittered_parameters;

// A tree with products in lists, in optional slots, below wrappers, in experts, recurrences and
// state-space layers, with a tied embedding.
TinyRoot mixed_root() {
  TinyRoot root;
  const auto attention = [](Child<QKV> qkv) -> Child<Block> {
    return PreNorm::Config{.body = Attention::Config{.num_heads = 2, .qkv = std::move(qkv)}};
  };
  const auto block = [](Child<Mixer> body) -> Child<Block> {
    return PreNorm::Config{.body = std::move(body)};
  };
  root.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->layers = Pattern::Config{
      .num_layers = 4,
      .pattern = {
          TransformerLayer::Config{.attention = attention(RoPE::Config{})},
          TransformerLayer::Config{.attention = attention(FusedGroupedQKV::Config{}),
                                   .feed_forward = block(MoE::Config{
                                       .num_experts = 2,
                                       .hidden_dim = FixedDim{6},
                                       .gate = Linear::Config{},
                                       .shared = FeedForward::Config{.hidden_dim = FixedDim{4}}})},
          attention(NormedQKV::Config{.inner = SeparateQKV::Config{}}),
          block(Mamba2::Config{.head_dim = 4, .state_dim = 4, .chunk_size = 4})}};
  return root;
}

// What the modifier changes in the layers of one config.
struct Pair {
  std::unique_ptr<Layer> plain, adapted;
};

template <class Role>
Pair pair_of(const Child<Role>& config, const typename Role::Dims& dims) {
  Child<Role> adapted = config;
  // Other parts of LatentAttention read these weights; a layer alone is no model that could show
  // it. Other layers do not have them.
  Child<Modifier> lora =
      Lora::Config{.except = {"key_product", "value_product"}, .rank = 2, .alpha = 3};
  lora.options.allow_none = true;
  apply_modifier(lora, "modify[0]", adapted);
  return {config.build(dims, Scope{.path = "x"}), adapted.build(dims, Scope{.path = "x"})};
}

void expect_equal(const std::vector<HostTensor>& actual, const std::vector<HostTensor>& expected,
                  double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_LE(testing::relative_difference(actual[i], expected[i]), tolerance) << i;
}

// Expects that the adapted layer starts as the plain one, keeps the paths of its parameters, and
// computes what the plain one computes with merged weights.
template <class Role>
void check(std::string_view what, const Child<Role>& config, const typename Role::Dims& dims) {
  SCOPED_TRACE(what);
  const auto [plain, adapted] = pair_of(config, dims);
  const Tree<HostTensor> inputs = testing::LawInputs<Role>::make(dims);
  const auto run = [&](Layer& layer, const Tree<HostTensor>& parameters) {
    return call_layer(layer, parameters, inputs, {}).outputs;
  };
  const Tree<HostTensor> base = jittered_parameters(*plain);
  Tree<HostTensor> start = testing::initial_parameters(*adapted, 0);
  const size_t num_adapters = adapter_paths(*adapted).size();
  EXPECT_GT(num_adapters, 0u);
  EXPECT_EQ(start.size(), base.size() + num_adapters);
  for (const auto& [path, value] : base) {
    ASSERT_TRUE(start.contains(path)) << path;
    EXPECT_EQ(start.at(path).type(), value.type()) << path;
    start.at(path) = value;
  }
  expect_equal(run(*adapted, start), run(*plain, base), 0);

  const Tree<HostTensor> moved = jittered_parameters(*adapted);
  const Tree<HostTensor> merged = merged_adapters(*adapted, moved);
  EXPECT_EQ(merged.size(), base.size());
  const std::vector<HostTensor> y = run(*adapted, moved);
  expect_equal(y, run(*plain, merged), 2e-5);
  Tree<HostTensor> unmerged;
  for (const auto& [path, value] : base) unmerged.emplace(path, moved.at(path));
  EXPECT_GT(testing::relative_difference(y[0], run(*plain, unmerged)[0]), 1e-3)
      << "the adapters count";
}

TEST(Lora, ProjectionsStartUnchangedAndMerge) {
  check<Projection>("Linear", Linear::Config{}, {.input_dim = 4, .output_dim = 3});
  check<Projection>("LmHead", LmHead::Config{}, {.input_dim = 4, .output_dim = 6});
  check<MultiProjection>("MultiLinear", MultiLinear::Config{},
                         {.input_dim = 4, .num_outputs = 2, .output_dim = 3});
  const HeadDims heads{.model_dim = 6, .num_heads = 2, .head_dim = 3};
  check<HeadInput>("HeadInputLinear", HeadInputLinear::Config{.bias = true}, heads);
  check<HeadOutput>("HeadOutputLinear", HeadOutputLinear::Config{}, heads);
  const QKV::Dims grouped{.model_dim = 8, .num_heads = 4, .num_kv_heads = 2, .head_dim = 4};
  const QKV::Dims plain{.model_dim = 8, .num_heads = 2, .num_kv_heads = 2, .head_dim = 4};
  check<QKV>("SeparateQKV", SeparateQKV::Config{}, grouped);
  check<QKV>("FusedGroupedQKV", FusedGroupedQKV::Config{}, grouped);
  check<QKV>("FusedQKV", FusedQKV::Config{.bias = true}, plain);
  check<QKV>("RoPE around NormedQKV", RoPE::Config{.inner = NormedQKV::Config{}}, plain);
}

TEST(Lora, MixersStartUnchangedAndMerge) {
  const Mixer::Dims dims{.model_dim = 4};
  const MoE::Config experts{
      .num_experts = 3, .hidden_dim = FixedDim{6}, .gate = Linear::Config{.bias = false}};
  MoE::Config capacity = experts;
  capacity.dispatch = CapacityDispatch::Config{.eval_capacity_factor = 3.0};
  check<Mixer>("sorted experts", experts, dims);
  check<Mixer>("experts with a capacity", capacity, dims);
  check<Mixer>("Mamba1", Mamba1::Config{}, dims);
  check<Mixer>("Mamba2", Mamba2::Config{.head_dim = 4, .state_dim = 4, .chunk_size = 4}, dims);
  check<Mixer>("LatentAttention",
               LatentAttention::Config{.num_heads = 2,
                                       .query_rank = 3,
                                       .kv_rank = 4,
                                       .nope_dim = 4,
                                       .rope_dim = 2,
                                       .value_dim = 4,
                                       .query_down = Linear::Config{.bias = false},
                                       .query_norm = RMSNorm::Config{}},
               dims);
  const PreNorm::Config block{.body = experts};
  check<Block>("a loop over experts", Repeat::Config{.num_layers = 3, .layer = block}, dims);
  check<Block>("a stack of experts", Stacked::Config{.num_layers = 2, .layer = block}, dims);
}

TEST(Lora, FansCountOneMap) {
  // The bound of the uniform distribution is 1 / sqrt(inputs), regardless of stacking.
  const auto bound = [](const Layer& layer, const std::string& path) {
    return testing::largest_element(testing::initial_parameters(layer, 1).at(path));
  };
  const Mixer::Dims dims{.model_dim = 64};
  const MoE::Config experts{.num_experts = 4, .hidden_dim = FixedDim{16}};
  const PreNorm::Config block{.body = experts};
  const Pair loop = pair_of<Block>(Repeat::Config{.num_layers = 3, .layer = block}, dims);
  const std::string up = "x/layer/body/up/product/lora_down";
  EXPECT_EQ(loop.adapted->param_specs().at(up).shape, (Shape{3, 4, 64, 2}));
  EXPECT_NEAR(bound(*loop.adapted, up), 1 / 8., 0.005);
  EXPECT_NEAR(bound(*loop.adapted, "x/layer/body/down/product/lora_down"), 1 / 4., 0.01);
  const Pair fused = pair_of<QKV>(
      FusedQKV::Config{}, {.model_dim = 64, .num_heads = 4, .num_kv_heads = 4, .head_dim = 4});
  const Tree<ParamSpec> specs = fused.adapted->param_specs();
  EXPECT_EQ(specs.at("x/product/lora_down").shape, (Shape{3, 64, 2}));
  EXPECT_EQ(specs.at("x/product/lora_up").shape, (Shape{3, 2, 4, 4}));
  EXPECT_EQ(to_text(specs.at("x/product/lora_up").partition()),
            to_text(PartitionSpec{{kReplicated, kReplicated, kShardAxes, kReplicated}}));
  EXPECT_NEAR(bound(*fused.adapted, "x/product/lora_down"), 1 / 8., 0.005);
}

TEST(Lora, ReportsWhatItMatchedInAMixedTree) {
  TinyRoot root = mixed_root();
  const std::vector<Rewrite> report = apply_modifier(Lora::Config{}, "modify[0]", root);
  ASSERT_EQ(report.size(), 2u);
  EXPECT_EQ(report[0].what, "Product inside LoraProduct");
  // Attention: 2 with a fused, 2 with a grouped, 4 with a separate projection; feed-forward: 2;
  // experts: 3 and 2 shared; Mamba2: 4.
  EXPECT_EQ(report[0].report.matched.size(), 19u);
  const std::string layers = "model.decoder.layers.pattern";
  EXPECT_THAT(report[0].report.matched,
              ::testing::IsSupersetOf({layers + "[0].attention.body.qkv.inner.product",
                                       layers + "[1].attention.body.qkv.proj.product",
                                       layers + "[1].feed_forward.body.gate.product",
                                       layers + "[2].body.qkv.inner.k_proj.product",
                                       layers + "[3].body.output.product"}));
  ASSERT_EQ(report[0].report.skipped.size(), 1u);
  EXPECT_EQ(report[0].report.skipped[0].path, "model.decoder.emb.product");
  EXPECT_THAT(report[0].report.skipped[0].why,
              HasSubstr("expected a product with a weight of its own, got one whose weight has "
                        "other uses"));
  EXPECT_TRUE(report[1].report.matched.empty()) << "the tree has no learner";
}

TEST(Lora, SecondApplicationChangesNothing) {
  TinyRoot once = mixed_root();
  apply_modifier(Lora::Config{}, "modify[0]", once);
  TinyRoot twice = once;
  const RewriteReport again = apply_modifier(Lora::Config{}, "modify[0]", twice)[0].report;
  EXPECT_TRUE(again.matched.empty());
  EXPECT_EQ(again.unchanged.size(), 19u);
  EXPECT_EQ(to_string(twice), to_string(once));
  EXPECT_EQ(remove_adapters(twice).size(), 19u);
  EXPECT_EQ(to_string(twice), to_string(mixed_root()));
}

TEST(Lora, AppliesOnlyToMatchingPaths) {
  TinyRoot root = mixed_root();
  const Lora::Config some{.at = "**.qkv.**", .except = {"**.k_proj"}};
  EXPECT_THAT(apply_modifier(some, "modify[0]", root)[0].report.matched,
              ElementsAre("model.decoder.layers.pattern[0].attention.body.qkv.inner.product",
                          "model.decoder.layers.pattern[1].attention.body.qkv.proj.product",
                          "model.decoder.layers.pattern[2].body.qkv.inner.q_proj.product",
                          "model.decoder.layers.pattern[2].body.qkv.inner.v_proj.product"));
  EXPECT_THAT(
      error_of([&] { apply_modifier(Lora::Config{.at = "**.qqkv"}, "modify[0]", root); }),
      HasSubstr("Lora.at: expected the path of a layer with a product, got '**.qqkv', which "
                "matches none"));
  EXPECT_THAT(
      error_of([&] {
        apply_modifier(Lora::Config{.at = "**.qkv.**", .except = {"**.q_proj", "**.qkv.**"}},
                       "modify[0]", root);
      }),
      HasSubstr("that '**.qkv.**' matches, got '**.q_proj', '**.qkv.**', which excludes all"));
}

// A rank above both sides of the weight saves nothing.
TEST(Lora, RefusesARankAboveBothSides) {
  const auto mistake = [](int64_t rank) {
    const Child<Projection> config = Linear::Config{.product = LoraProduct::Config{.rank = rank}};
    return error_of([&] { config.build({.input_dim = 4, .output_dim = 6}, Scope{.path = "x"}); });
  };
  EXPECT_THAT(
      mistake(7),
      HasSubstr("x.product.rank: expected at most 6, the larger side of the weight, got 7"));
  EXPECT_EQ(mistake(6), mistake(1));
  // The modifier leaves out what is too small, and says so if that is everything.
  TinyRoot root = mixed_root();
  EXPECT_THAT(error_of([&] { apply_modifier(Lora::Config{.rank = 100'000}, "modify[0]", root); }),
              HasSubstr("Lora: expected at least one slot that it can change, got only "));
  EXPECT_THAT(
      error_of([&] { apply_modifier(Lora::Config{.rank = 100'000}, "modify[0]", root); }),
      ContainsRegex("qkv.inner.product.rank: expected at most 8, the larger side of the "
                    "weight, got 100000 .and [0-9]+ like it.; .*; and [0-9]+ more; correct it"));
}

TEST(Lora, AdapterIsRefusedForAWeightWithOtherUses) {
  const Child<Projection> config = UnitNormLinear::Config{.product = LoraProduct::Config{}};
  EXPECT_THAT(
      error_of([&] { config.build({.input_dim = 4, .output_dim = 3}, Scope{.path = "x"}); }),
      HasSubstr("x.product.inner: expected a product with a weight of its own"));
}

TEST(Lora, EveryAdapterOfAModelGetsAGradient) {
  TinyRoot root = mixed_root();
  apply_modifier(Lora::Config{}, "modify[0]", root);
  int64_t adapters = 0;
  for (const auto& [path, gradient] : step_of(root).gradients) {
    if (path.find("/lora_") == std::string::npos) continue;
    EXPECT_GT(testing::largest_element(gradient), 0) << path;
    ++adapters;
  }
  EXPECT_EQ(adapters, 2 * 19);
}

}  // namespace
}  // namespace axle
