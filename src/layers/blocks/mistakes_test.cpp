// Every mistake of a tree of blocks is reported once, in one error.
#include <gmock/gmock.h>

#include "base/text/text.h"
#include "config/walk.h"
#include "layers/attention/caches/bounded_kv_caches.h"
#include "layers/attention/latent_attention.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/experts/linear_routers.h"
#include "layers/experts/moe.h"
#include "layers/norms/batch_norms.h"
#include "testing/error_of.h"

namespace axle {
namespace {

const std::string kKeyValueHeads = "must divide num_heads, got 3 and 4";
const std::string kWindow =
    "expected a mask with a window of at most 64 positions, got a mask without a window; use "
    "SlidingWindowMask, a larger window, or DenseKVCache";

std::string mistakes_of(const Child<Block>& config) {
  const std::string all =
      error_of([&] { config.build({.model_dim = 16}, Scope{.path = "model/blocks"}); });
  for (const std::string_view line : split(all, '\n')) {
    const std::string_view path = line.substr(0, line.find(':'));
    EXPECT_TRUE(path.starts_with("model.blocks.")) << line;
    EXPECT_NO_THROW(find_slot(config, path.substr(std::string("model.blocks.").size())))
        << "a path that --set does not take: " << line;
  }
  return all;
}

// Its attention has two mistakes, its norm another one.
TransformerLayer::Config faulty_layer() {
  return {.attention = PreNorm::Config{
              .norm = GroupNorm::Config{.num_groups = 5},
              .body = Attention::Config{.num_heads = 4,
                                        .num_kv_heads = 3,
                                        .qkv = RoPE::Config{},
                                        .kv_cache = SlidingKVCache::Config{.window = 64}}}};
}
// What a layer at this path reports.
std::string lines_of(const std::string& path) {
  return path + ".attention.norm.num_groups: must divide the 16 channels, got 5\n" + path +
         ".attention.body.num_kv_heads: " + kKeyValueHeads + "\n" + path +
         ".attention.body.kv_cache.window: " + kWindow;
}

TEST(Mistakes, ReportsMistakesOfAttentionAndItsNorm) {
  EXPECT_EQ(mistakes_of(faulty_layer()), lines_of("model.blocks"));
}

TEST(Mistakes, ReportsMistakesOfASharedConfigOnce) {
  EXPECT_EQ(mistakes_of(Repeat::Config{.num_layers = 3, .layer = faulty_layer()}),
            lines_of("model.blocks.layer"));
  EXPECT_EQ(mistakes_of(Stacked::Config{.num_layers = 3, .layer = faulty_layer()}),
            lines_of("model.blocks.layer"));
  // The rest of the pattern begins with the faulty layer again.
  EXPECT_EQ(
      mistakes_of(Pattern::Config{.num_layers = 5, .pattern = {faulty_layer(), faulty_layer()}}),
      lines_of("model.blocks.pattern[0]") + "\n" + lines_of("model.blocks.pattern[1]"));
}

TEST(Mistakes, ReportsMistakesOfAllSeparateConfigs) {
  const PreNorm::Config experts{
      .body = MoE::Config{
          .num_experts = 4,
          .router = BalancedRouter::Config{.top_k = 2, .num_expert_groups = 3, .top_groups = 4}}};
  const PreNorm::Config good{.body = Attention::Config{.num_heads = 4}};
  const Stacked::Config mixed{.num_layers = 4,
                              .layers = {faulty_layer(), good, experts, faulty_layer()}};
  EXPECT_EQ(
      mistakes_of(mixed),
      lines_of("model.blocks.layers[0]") +
          "\nmodel.blocks.layers[2].body.router.num_expert_groups: must divide num_experts, got "
          "3 and 4\n"
          "model.blocks.layers[2].body.router.top_groups: must be at most num_expert_groups, got "
          "4 and 3\n" +
          lines_of("model.blocks.layers[3]"));
}

// A mask is a child as a layer is: its parts and the mixer are checked too.
TEST(Mistakes, NamesThePathsOfMasks) {
  const Attention::Config masked{
      .num_heads = 4,
      .mask = AnyOf::Config{.masks = {CausalMask::Config{}, AllOf::Config{},
                                      SlidingWindowMask::Config{.window = -1}}},
      .core = SoftmaxAttention::Config{.per_dim_scale = {}, .logit_cap = -3}};
  const LatentAttention::Config latent{.num_heads = 2, .mask = AllOf::Config{}};
  const std::string no_mask =
      "expected at least one mask, got none; leave the mask of attention out if every query sees "
      "every key";
  EXPECT_EQ(mistakes_of(Stacked::Config{
                .num_layers = 2,
                .layers = {PreNorm::Config{.body = masked}, PostNorm::Config{.body = latent}}}),
            "model.blocks.layers[0].body.mask.masks[1].masks: " + no_mask +
                "\nmodel.blocks.layers[0].body.mask.masks[2].window: expected an integer of at "
                "least 0, got -1\n"
                "model.blocks.layers[0].body.core.logit_cap: expected a number above 0, got -3.0\n"
                "model.blocks.layers[1].body.mask.masks: " +
                no_mask);
}

// Heads that do not divide the model dim give heads of no known size. Their parts say nothing.
TEST(Mistakes, UnknownSizesCauseNoFurtherMistakes) {
  TransformerLayer::Config layer = faulty_layer();
  auto& attention = *layer.attention.get_if<PreNorm>()->body.get_if<Attention>();
  attention.num_heads = 3;
  attention.num_kv_heads = 2;
  EXPECT_EQ(mistakes_of(layer),
            "model.blocks.attention.norm.num_groups: must divide the 16 channels, got 5\n"
            "model.blocks.attention.body.num_kv_heads: must divide num_heads, got 2 and 3\n"
            "model.blocks.attention.body.num_heads: must divide the model dim unless head_dim is "
            "set, got 3 and 16\n"
            "model.blocks.attention.body.kv_cache.window: " +
                kWindow);
}

}  // namespace
}  // namespace axle
