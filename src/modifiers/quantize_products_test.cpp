#include "modifiers/quantize_products.h"

#include <gmock/gmock.h>

#include "layers/attention/latent_attention.h"
#include "layers/attention/qkv/fused_grouped_qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/pattern.h"
#include "layers/experts/moe.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/models/lm_head.h"
#include "layers/products/delayed_fp8_product.h"
#include "layers/products/fp8_product.h"
#include "modifiers/lora.h"
#include "modifiers/tiny_step_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A tree with products in lists, in optional slots, below wrappers and in experts, and layers that
// multiply without a product.
TinyRoot mixed_root() {
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

std::vector<std::string> skipped_in(const RewriteReport& report) {
  std::vector<std::string> out;
  for (const SkippedSlot& slot : report.skipped) out.push_back(slot.path);
  return out;
}

const Child<Modifier> kInt8 = QuantizeProducts::Config{};

TEST(QuantizeProducts, ConvertsEveryProductAndListsTheRest) {
  TinyRoot root = mixed_root();
  const std::vector<Rewrite> report = apply_modifier(kInt8, "modify[0]", root);
  ASSERT_EQ(report.size(), 1u);
  EXPECT_EQ(report[0].what, "Product -> Int8Product");
  // Attention: 2 and 2; feed-forward: 2; experts: 3; latent attention: 6, of which query_down is
  // not used; the table of the embedding and the head.
  EXPECT_EQ(report[0].report.matched.size(), 17u);
  EXPECT_THAT(skipped_in(report[0].report),
              ElementsAre("model.decoder.layers.pattern[1].feed_forward.body.router"));
  EXPECT_THAT(to_string(root), ::testing::Not(HasSubstr("PlainProduct")));
}

TEST(QuantizeProducts, AppliedTwiceChangesNothingMore) {
  TinyRoot once = mixed_root();
  apply_modifier(kInt8, "modify[0]", once);
  TinyRoot twice = once;
  EXPECT_TRUE(apply_modifier(kInt8, "modify[0]", twice)[0].report.matched.empty());
  EXPECT_EQ(to_string(twice), to_string(once));
  // Another kind takes the place of the first one.
  const QuantizeProducts::Config fp8{.with = Fp8Product::Config{}};
  EXPECT_EQ(apply_modifier(fp8, "modify[1]", twice)[0].report.matched.size(), 17u);
}

TEST(QuantizeProducts, LeavesWhatItIsTold) {
  TinyRoot root = mixed_root();
  const QuantizeProducts::Config cfg{.at = "model.decoder.layers.**",
                                     .except = {"**.kv_down", "**.qkv.**"},
                                     .with = DelayedFp8Product::Config{.history_length = 16}};
  const std::vector<Rewrite> report = apply_modifier(cfg, "modify[0]", root);
  ASSERT_EQ(report.size(), 1u);
  EXPECT_EQ(report[0].report.matched.size(), 12u);
  EXPECT_THAT(skipped_in(report[0].report),
              ElementsAre("model.decoder.emb.product",
                          "model.decoder.layers.pattern[0].attention.body.qkv.inner.product",
                          "model.decoder.layers.pattern[1].attention.body.qkv.proj.product",
                          "model.decoder.layers.pattern[2].body.kv_down.product",
                          "model.decoder.lm_head.product",
                          "model.decoder.layers.pattern[1].feed_forward.body.router"));
}

TEST(QuantizeProducts, GoesBelowAdapters) {
  TinyRoot root = mixed_root();
  apply_modifier(Lora::Config{}, "modify[0]", root);
  const auto report = apply_modifier(kInt8, "modify[1]", root);
  EXPECT_EQ(report[0].report.matched.size(), 17u);
  const std::string text = to_string(root);
  EXPECT_THAT(text, HasSubstr("[0].attention.body.output.product: LoraProduct\n"));
  EXPECT_THAT(text, HasSubstr("[0].attention.body.output.product.inner: Int8Product\n"));
  EXPECT_TRUE(apply_modifier(kInt8, "modify[1]", root)[0].report.matched.empty());
}

TEST(QuantizeProducts, NamesWhatDoesNotFit) {
  TinyRoot root = mixed_root();
  EXPECT_THAT(error_of([&] {
                apply_modifier(QuantizeProducts::Config{.at = "**.heads"}, "modify[0]", root);
              }),
              HasSubstr("QuantizeProducts.at: expected the path of a layer with a product, got "
                        "'**.heads', which matches none"));
  EXPECT_THAT(error_of([&] {
                apply_modifier(QuantizeProducts::Config{.with = LoraProduct::Config{}}, "modify[0]",
                               root);
              }),
              HasSubstr("modify[0].with: expected a product that holds no other one, got "
                        "LoraProduct"));
}

// The layers of all dot products of the model's forward pass.
void collect_layers(const Region& region, std::set<std::string>& out) {
  for (const OpNode* op : region.ops()) {
    const std::string_view name = op->rules->name();
    if (name == "dot_general" || name == "ragged_dot") out.insert(op->scope ? *op->scope : "");
    for (const auto& inner : op->regions) collect_layers(*inner, out);
  }
}

TEST(QuantizeProducts, NoWeightIsMultipliedElsewhere) {
  std::set<std::string> layers;
  collect_layers(*step_of(mixed_root()).forward, layers);
  int64_t in_products = 0;
  for (const std::string& layer : layers) {
    if (layer.find("product") != std::string::npos) {
      ++in_products;
      continue;
    }
    // Activations are multiplied by activations in cores and dispatches; routers are listed.
    const bool known = layer.find("/core") != std::string::npos || layer.ends_with("/router") ||
                       layer.ends_with("/feed_forward/body");
    EXPECT_TRUE(known) << layer
                       << " multiplies outside of a product and the report does not say so";
  }
  EXPECT_GE(in_products, 14);
}

TEST(QuantizeProducts, EveryProductOfTheModelChanges) {
  TinyRoot root = mixed_root();
  const TinyStep plain = step_of(root);
  apply_modifier(kInt8, "modify[0]", root);
  const TinyStep rounded = step_of(root);
  EXPECT_NE(rounded.loss, plain.loss);
  EXPECT_NEAR(rounded.loss.at(0), plain.loss.at(0), 0.05 * plain.loss.at(0));
  EXPECT_EQ(rounded.gradients.size(), plain.gradients.size());
}

}  // namespace
}  // namespace axle
