#include <gmock/gmock.h>

#include "layers/attention/caches/bounded_kv_caches.h"
#include "layers/attention/caches/dense_kv_caches.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/blocks/stack.h"
#include "modifiers/attention/set_attention.h"
#include "modifiers/tiny_root_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kPattern = "model.decoder.layers.pattern";

// Attentions with a window of 4 and of 8, one that shares its keys, and one that borrows them.
TinyRoot mixed_root() {
  const auto block = [](Attention::Config attention) -> Child<Block> {
    attention.num_heads = 2;
    return PreNorm::Config{.body = std::move(attention)};
  };
  const auto windowed = [&](int64_t window) {
    return block({.mask = SlidingWindowMask::Config{.window = window}});
  };
  TinyRoot root;
  root.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->layers = Pattern::Config{
      .num_layers = 4,
      .pattern = {windowed(4), windowed(8), block({.kv_cache = SharedKVCache::Config{}}),
                  block({.qkv = QueryOnly::Config{}, .kv_cache = BorrowedKVCache::Config{}})}};
  return root;
}

TEST(SetCache, ReportsSlotsThatItDoesNotFit) {
  TinyRoot root = mixed_root();
  const SetCache::Config modifier{.cache = SlidingKVCache::Config{.window = 4}};
  const RewriteReport report = apply_modifier(modifier, "modify[0]", root).at(0).report;
  EXPECT_THAT(report.matched, ElementsAre(kPattern + "[0].body.kv_cache"));
  ASSERT_EQ(report.skipped.size(), 3u);
  EXPECT_EQ(report.skipped[0].path, kPattern + "[1].body.kv_cache");
  EXPECT_THAT(report.skipped[0].why,
              HasSubstr("expected a mask with a window of at most 4 positions, got one of 8"));
  EXPECT_EQ(report.skipped[1].path, kPattern + "[2].body.kv_cache.inner");
  EXPECT_THAT(report.skipped[1].why, HasSubstr("got a mask without a window"));
  EXPECT_EQ(report.skipped[2].path, kPattern + "[3].body.kv_cache");
  EXPECT_EQ(report.skipped[2].why, "borrows the keys of another layer");
  EXPECT_EQ(diff(mixed_root(), root), kPattern +
                                          "[0].body.kv_cache: DenseKVCache -> SlidingKVCache\n" +
                                          kPattern + "[0].body.kv_cache.window: 4 (new)\n");
}

TEST(SetCache, SharedCachesStayShared) {
  TinyRoot root = mixed_root();
  const SetCache::Config modifier{.cache = PagedKVCache::Config{}, .at = "**.pattern[2].**"};
  EXPECT_THAT(apply_modifier(modifier, "modify[0]", root).at(0).report.matched,
              ElementsAre(kPattern + "[2].body.kv_cache.inner"));
}

TEST(SetCache, FittingNoSlotIsAnError) {
  TinyRoot root;
  const SetCache::Config modifier{.cache = SlidingKVCache::Config{.window = 4}};
  EXPECT_THAT(error_of([&] { apply_modifier(modifier, "modify[0]", root); }),
              ::testing::AllOf(
                  HasSubstr("SetCache: expected at least one slot that it can change, got only "
                            "model.decoder.layers.layer.attention.body.kv_cache.window: "),
                  HasSubstr("a mask without a window")));
  EXPECT_EQ(diff(TinyRoot{}, root), "");
}

TEST(SetCache, EarlierMistakesAreIgnored) {
  TinyRoot root = mixed_root();
  root.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->model_dim = 7;  // 2 heads do not divide
  const SetCache::Config modifier{.cache = PagedKVCache::Config{}};
  EXPECT_EQ(apply_modifier(modifier, "modify[0]", root).at(0).report.matched.size(), 3u);
}

}  // namespace
}  // namespace axle
