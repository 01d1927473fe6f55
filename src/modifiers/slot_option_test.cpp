#include <gtest/gtest.h>

#include "modifiers/attention/set_attention.h"
#include "modifiers/tiny_root_test.h"

namespace axle {
namespace {

TEST(SlotOption, CountsTheSlotsThatHaveTheOption) {
  TinyRoot root;
  const std::optional<DType> dtype = DType::kBF16;
  int asked = 0;
  const auto norms = [&](const std::string& path, const Slot&) {
    ++asked;
    return path.ends_with("norm");
  };
  EXPECT_EQ(set_option(root, "@dtype", &dtype, norms).matched.size(), 3u);
  EXPECT_GT(asked, 10);
  EXPECT_EQ(diff(TinyRoot{}, root),
            "model.decoder.layers.layer.attention.norm.@dtype: bf16 (new)\n"
            "model.decoder.layers.layer.feed_forward.norm.@dtype: bf16 (new)\n"
            "model.decoder.output_norm.@dtype: bf16 (new)\n");
  // A plain field is not a layer slot, so it has no options.
  const auto field = [](const std::string& path, const Slot&) { return path == "max_steps"; };
  const RewriteReport none = set_option(root, "@dtype", &dtype, field);
  EXPECT_TRUE(none.matched.empty() && none.unchanged.empty());
  const RewriteReport again = set_option(root, "@dtype", &dtype, norms);
  EXPECT_TRUE(again.matched.empty());
  EXPECT_EQ(again.unchanged.size(), 3u);
}

}  // namespace
}  // namespace axle
