#include <fmt/format.h>
#include <gmock/gmock.h>

#include "layers/attention/cores/transformer_xl_attention.h"
#include "layers/attention/latent_attention.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "layers/experts/moe.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/models/causal_lm.h"
#include "layers/products/fp8_product.h"
#include "modifiers/products/product_modifiers.h"
#include "modifiers/tiny_step_test.h"
#include "ops/elementwise/elementwise.h"
#include "ops/products/products.h"
#include "testing/error_of.h"
#include "transform/control_flow/control_flow.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A tree with products in lists, in optional slots, below wrappers and in experts, and layers that
// multiply without a product.
TinyRoot quantize_products_mixed_root() {
  TinyRoot root;
  const auto attention = [](Child<QKV> qkv) -> Child<Block> {
    return PreNorm::Config{.body = Attention::Config{.num_heads = 2, .qkv = std::move(qkv)}};
  };
  const auto block = [](Child<Mixer> body) -> Child<Block> {
    return PreNorm::Config{.body = std::move(body)};
  };
  auto& decoder = *root.model.get_if<CausalLM>()->decoder.get_if<Decoder>();
  decoder.layers = Pattern::Config{
      .num_layers = 3,
      .pattern = {
          TransformerLayer::Config{.attention = attention(RoPE::Config{})},
          TransformerLayer::Config{
              .attention = attention(FusedGroupedQKV::Config{}),
              .feed_forward = block(MoE::Config{
                  .num_experts = 2, .hidden_dim = FixedDim{6}, .gate = Linear::Config{}})},
          block(LatentAttention::Config{
              .num_heads = 2, .kv_rank = 4, .nope_dim = 4, .rope_dim = 2, .value_dim = 4})}};
  decoder.lm_head = LmHead::Config{};
  return root;
}

// What the report says of the router's weight, which has no slot.
constexpr const char* kRouterWeight =
    "model: model.decoder.layers.groups.layer.layer1.feed_forward.body.router multiplies "
    "model.decoder.layers.groups.layer.layer1.feed_forward.body.router.weight without a product, "
    "by dot_general";

std::vector<std::string> skipped_in(const RewriteReport& report) {
  std::vector<std::string> out;
  for (const SkippedSlot& slot : report.skipped)
    out.push_back(slot.path == "model" ? slot.path + ": " + slot.why : slot.path);
  return out;
}

const Child<Modifier> kInt8 = QuantizeProducts::Config{};

TEST(QuantizeProducts, ConvertsEveryProductAndListsTheRest) {
  TinyRoot root = quantize_products_mixed_root();
  const std::vector<Rewrite> report = apply_modifier(kInt8, "modify[0]", root);
  ASSERT_EQ(report.size(), 1u);
  EXPECT_EQ(report[0].what, "Product -> Int8Product");
  // Attention: 2 and 2; feed-forward: 2; experts: 3; latent attention: 5; the embedding's table
  // and the head.
  EXPECT_EQ(report[0].report.matched.size(), 16u);
  EXPECT_THAT(skipped_in(report[0].report), ElementsAre(kRouterWeight));
  EXPECT_THAT(to_string(root), ::testing::Not(HasSubstr("PlainProduct")));
}

TEST(QuantizeProducts, SecondApplicationChangesNothing) {
  TinyRoot once = quantize_products_mixed_root();
  apply_modifier(kInt8, "modify[0]", once);
  TinyRoot twice = once;
  EXPECT_TRUE(apply_modifier(kInt8, "modify[0]", twice)[0].report.matched.empty());
  EXPECT_EQ(to_string(twice), to_string(once));
  // Another kind replaces the first one.
  const QuantizeProducts::Config fp8{.with = Fp8Product::Config{}};
  EXPECT_EQ(apply_modifier(fp8, "modify[1]", twice)[0].report.matched.size(), 16u);
}

TEST(QuantizeProducts, LeavesExcludedProducts) {
  TinyRoot root = quantize_products_mixed_root();
  const QuantizeProducts::Config cfg{.at = "model.decoder.layers.**",
                                     .except = {"**.kv_down", "**.qkv.**"},
                                     .with = DelayedFp8Product::Config{.history_length = 16}};
  const std::vector<Rewrite> report = apply_modifier(cfg, "modify[0]", root);
  ASSERT_EQ(report.size(), 1u);
  EXPECT_EQ(report[0].report.matched.size(), 11u);
  EXPECT_THAT(skipped_in(report[0].report),
              ElementsAre("model.decoder.emb.product",
                          "model.decoder.layers.pattern[0].attention.body.qkv.inner.product",
                          "model.decoder.layers.pattern[1].attention.body.qkv.proj.product",
                          "model.decoder.layers.pattern[2].body.kv_down.product",
                          "model.decoder.lm_head.product", kRouterWeight));
}

TEST(QuantizeProducts, QuantizesTheProductsInsideAdapters) {
  TinyRoot root = quantize_products_mixed_root();
  apply_modifier(Lora::Config{}, "modify[0]", root);
  const auto report = apply_modifier(kInt8, "modify[1]", root);
  EXPECT_EQ(report[0].report.matched.size(), 16u);
  const std::string text = to_string(root);
  EXPECT_THAT(text, HasSubstr("[0].attention.body.output.product: LoraProduct\n"));
  EXPECT_THAT(text, HasSubstr("[0].attention.body.output.product.inner: Int8Product\n"));
  EXPECT_TRUE(apply_modifier(kInt8, "modify[1]", root)[0].report.matched.empty());
}

TEST(QuantizeProducts, MistakesAreNamed) {
  TinyRoot root = quantize_products_mixed_root();
  EXPECT_THAT(error_of([&] {
                apply_modifier(QuantizeProducts::Config{.at = "**.heads"}, "modify[0]", root);
              }),
              HasSubstr("QuantizeProducts.at: expected the path of a layer with a product, got "
                        "'**.heads', which matches none"));
  EXPECT_THAT(error_of([&] {
                apply_modifier(QuantizeProducts::Config{.except = {"**"}}, "modify[0]", root);
              }),
              HasSubstr("QuantizeProducts.except: expected to leave at least one of the 16 "
                        "products that '**' matches, got '**', which excludes all"));
  EXPECT_THAT(error_of([&] {
                apply_modifier(QuantizeProducts::Config{.with = LoraProduct::Config{}}, "modify[0]",
                               root);
              }),
              HasSubstr("modify[0].with: expected a product that holds no other one, got "
                        "LoraProduct"));
}

// What a newcomer writes: a layer that calls einsum with its own weights. The second one reaches
// the product through a loop, a factor and conversions.
class OwnEinsum final : public Mixer {
 public:
  struct Config {
    AXLE_CONFIG(OwnEinsum)
  };
  OwnEinsum(const Config&, const Dims& dims, const Scope& scope)
      : Mixer(scope),
        up_(param("up", {.shape = {dims.model_dim, 3}})),
        down_(param("down", {.shape = {2, 3, dims.model_dim}})),
        bias_(param("bias", {.shape = {3}})) {}

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext&) override {
    const Tensor hidden = einsum("btd,dh->bth", x_BTD, up_()) + bias_();
    const ScanResult sums = scan(
        [&](const Values& carry, const Values& slice) {
          const Tensor weight = astype(slice[0] * 2.0, DType::kBF16);
          return ScanResult{{carry[0] + einsum("bth,hd->btd", hidden, astype(weight, DType::kF32))},
                            {}};
        },
        {x_BTD}, {down_()}, 2);
    return sums.carry[0];
  }

 private:
  Param up_, down_, bias_;
};

AXLE_REGISTER(OwnEinsum)

TEST(QuantizeProducts, ListsTheWeightsOfLayersThatCallEinsumThemselves) {
  TinyRoot root;
  root.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->layers =
      Stacked::Config{.num_layers = 2, .layer = PreNorm::Config{.body = OwnEinsum::Config{}}};
  const RewriteReport report = apply_modifier(kInt8, "modify[0]", root)[0].report;
  std::vector<std::string> expected;
  for (const char* layer : {"layer0", "layer1"}) {
    for (const char* weight : {"down", "up"}) {
      const std::string path = fmt::format("model.decoder.layers.{}.body", layer);
      expected.push_back(fmt::format(
          "model: {0} multiplies {0}.{1} without a product, by dot_general", path, weight));
    }
  }
  EXPECT_EQ(skipped_in(report), expected);
}

TEST(QuantizeProducts, ListsTheEmbeddingsOfRelativePositions) {
  TinyRoot root;
  root.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->layers = Stacked::Config{
      .num_layers = 1,
      .layer = PreNorm::Config{
          .body = Attention::Config{.num_heads = 2, .core = TransformerXLAttention::Config{}}}};
  EXPECT_THAT(skipped_in(apply_modifier(kInt8, "modify[0]", root)[0].report),
              ElementsAre(HasSubstr("model.decoder.layers.layer0.body.core.position_weight")));
}

TEST(QuantizeProducts, ReportsAModelThatCannotBeTraced) {
  TinyRoot root;
  root.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->layers = Stacked::Config{
      .num_layers = 1, .layer = PreNorm::Config{.body = Attention::Config{.num_heads = 3}}};
  const RewriteReport report = apply_modifier(kInt8, "modify[0]", root)[0].report;
  EXPECT_FALSE(report.matched.empty());
  EXPECT_THAT(skipped_in(report),
              ElementsAre(HasSubstr("model: weights outside of products are not known")));
}

TEST(QuantizeProducts, QuantizedModelHasNearlyTheSameLoss) {
  TinyRoot root = quantize_products_mixed_root();
  const TinyStep plain = step_of(root);
  apply_modifier(kInt8, "modify[0]", root);
  const TinyStep rounded = step_of(root);
  EXPECT_NE(rounded.loss, plain.loss);
  EXPECT_NEAR(rounded.loss.at(0), plain.loss.at(0), 0.05 * plain.loss.at(0));
  EXPECT_EQ(rounded.gradients.size(), plain.gradients.size());
}

}  // namespace
}  // namespace axle
