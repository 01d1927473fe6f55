#include <gmock/gmock.h>

#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "modifiers/field_modifiers.h"
#include "modifiers/tiny_root_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const WrapClass::Config kRoPE{.wrap = "QKV", .with = "RoPE"};

// A tree in which some projections are in a list, some in a block of another kind, and one is
// wrapped already.
TinyRoot wrap_class_mixed_root() {
  const auto attention = [](Child<QKV> qkv) -> Child<Block> {
    return PreNorm::Config{.body = Attention::Config{.num_heads = 2, .qkv = std::move(qkv)}};
  };
  TinyRoot root;
  root.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->layers = Pattern::Config{
      .num_layers = 3,
      .pattern = {attention(FusedQKV::Config{}), attention(RoPE::Config{.theta = 7}),
                  TransformerLayer::Config{.attention = attention(SeparateQKV::Config{})}}};
  return root;
}

TEST(WrapClass, PutsTheClassAroundEveryMatch) {
  TinyRoot root = wrap_class_mixed_root();
  const auto report = apply_modifier(kRoPE, "modify[0]", root);
  ASSERT_EQ(report.size(), 1u);
  EXPECT_EQ(report[0].what, "QKV inside RoPE");
  const std::string layers = "model.decoder.layers.pattern";
  EXPECT_THAT(report[0].report.matched,
              ElementsAre(layers + "[0].body.qkv", layers + "[2].attention.body.qkv"));
  std::string text = to_string(root);
  EXPECT_THAT(text, HasSubstr(layers + "[0].body.qkv: RoPE\n"));
  EXPECT_THAT(text, HasSubstr(layers + "[0].body.qkv.inner: FusedQKV\n"));
  EXPECT_THAT(text, HasSubstr(layers + "[2].attention.body.qkv.inner: SeparateQKV\n"));
  EXPECT_THAT(text, HasSubstr(layers + "[1].body.qkv.theta: 7")) << "left as it was";
}

TEST(WrapClass, SecondApplicationChangesNothing) {
  TinyRoot once = wrap_class_mixed_root();
  apply_modifier(kRoPE, "modify[0]", once);
  TinyRoot twice = once;
  const auto report = apply_modifier(kRoPE, "modify[0]", twice);
  EXPECT_TRUE(report[0].report.matched.empty());
  EXPECT_EQ(to_string(twice), to_string(once));
}

TEST(WrapClass, OnlyTheWrapperOfTheSameClassCountsAsWrapped) {
  const std::string layers = "model.decoder.layers.pattern";
  const auto report_of = [](const WrapClass::Config& cfg) {
    TinyRoot root = wrap_class_mixed_root();
    return apply_modifier(cfg, "modify[0]", root).at(0).report;
  };
  // The RoPE of the tree is around the default, FusedQKV.
  const RewriteReport fused = report_of({.wrap = "FusedQKV", .with = "RoPE"});
  EXPECT_THAT(fused.matched, ElementsAre(layers + "[0].body.qkv"));
  EXPECT_THAT(fused.unchanged, ElementsAre(layers + "[1].body.qkv"));
  const RewriteReport separate = report_of({.wrap = "SeparateQKV", .with = "RoPE"});
  EXPECT_THAT(separate.matched, ElementsAre(layers + "[2].attention.body.qkv"));
  EXPECT_THAT(separate.unchanged, ElementsAre());
  EXPECT_THAT(error_of([&] { report_of({.wrap = "FusedGroupedQKV", .with = "RoPE"}); }),
              HasSubstr("FusedGroupedQKV: expected at least one match"));
  EXPECT_THAT(error_of([&] {
                report_of({.wrap = "FusedQKV", .with = "RoPE", .where = {{"bias", "true"}}});
              }),
              HasSubstr("FusedQKV: expected at least one that has what 'where' asks for"));
  EXPECT_THAT(
      error_of([&] { report_of({.wrap = "FusedQKV", .with = "RoPE", .at = "**.pattern[2].**"}); }),
      HasSubstr("FusedQKV: expected at least one match at '**.pattern[2].**'"));
}

TEST(WrapClass, WrapsOnlyAtMatchingPaths) {
  TinyRoot root = wrap_class_mixed_root();
  WrapClass::Config cfg = kRoPE;
  cfg.at = "model.decoder.layers.pattern[0].**";
  EXPECT_EQ(apply_modifier(cfg, "modify[0]", root)[0].report.matched.size(), 1u);
}

TEST(WrapClass, UnknownAndMissingNamesAreReported) {
  const auto error = [](const WrapClass::Config& cfg) {
    return error_of([&] { changes_by(cfg); });
  };
  EXPECT_THAT(error({.wrap = "QKW", .with = "RoPE"}),
              ::testing::StartsWith("WrapClass.wrap: no class is called 'QKW'"));
  EXPECT_THAT(error({.wrap = "QKV", .with = "RoPe"}),
              ::testing::StartsWith("WrapClass.with: no class is called 'RoPe'"));
  EXPECT_THAT(error({.wrap = "QKV", .with = "RoPE", .slot = "innner"}), HasSubstr("innner"));
  EXPECT_THAT(error({.wrap = "Norm", .with = "RoPE"}), HasSubstr("RoPE"));
  EXPECT_THAT(error({.wrap = "SeparateQKV", .with = "RoPE"}), HasSubstr("SeparateQKV"));
  EXPECT_THAT(
      error({.wrap = "Attention", .with = "RoPE", .where = {{"num_heads", "77"}}}),
      HasSubstr("Attention: expected at least one that has what 'where' asks for, got none"));
}

}  // namespace
}  // namespace axle
