#include <gmock/gmock.h>

#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "modifiers/field_modifiers.h"
#include "modifiers/tiny_step_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kPattern = "model.decoder.layers.pattern";

// Three attentions: of 2 heads, of 4 heads, and of 4 heads inside another block.
TinyRoot mixed_root() {
  const auto attention = [](int64_t heads) -> Child<Block> {
    return PreNorm::Config{.body = Attention::Config{.num_heads = heads, .qkv = RoPE::Config{}}};
  };
  TinyRoot root;
  root.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->layers = Pattern::Config{
      .num_layers = 3,
      .pattern = {attention(2), attention(4), TransformerLayer::Config{.attention = attention(4)}}};
  return root;
}

RewriteReport report_of(const SetWhere::Config& modifier, TinyRoot& root) {
  return apply_modifier(modifier, "modify[0]", root).at(0).report;
}

TEST(SetWhere, SetsFieldsWhereFieldsHaveTheirValues) {
  TinyRoot root = mixed_root();
  const SetWhere::Config modifier{.select = "Attention",
                                  .where = {{"num_heads", "4"}, {"qkv.theta", "10000"}},
                                  .set = {{"num_kv_heads", "2"}, {"qkv.theta", "5e5"}}};
  EXPECT_THAT(report_of(modifier, root).matched,
              ElementsAre(kPattern + "[1].body", kPattern + "[2].attention.body"));
  std::string expected;
  for (const char* place : {"[1].body", "[2].attention.body"}) {
    expected += kPattern + place + ".num_kv_heads: none -> 2\n";
    expected += kPattern + place + ".qkv.theta: 10000.0 -> 5e+05\n";
  }
  EXPECT_EQ(diff(mixed_root(), root), expected);
}

TEST(SetWhere, AConditionMayNameAClassOrNone) {
  TinyRoot root = mixed_root();
  root.model.get_if<CausalLM>()->z_loss_scale = 1;
  const auto matched = [&](const FieldTexts& where) {
    TinyRoot copy = root;
    return report_of({.select = "Attention", .where = where, .set = {{"head_dim", "4"}}}, copy)
        .matched.size();
  };
  EXPECT_EQ(matched({{"qkv", "RoPE"}}), 3u);
  EXPECT_EQ(matched({{"qkv", "RoPE"}, {"num_heads", "2"}}), 1u);
  EXPECT_EQ(matched({{"num_kv_heads", "none"}}), 3u);
  EXPECT_THAT(error_of([&] { matched({{"qkv", "SeparateQKV"}}); }), HasSubstr("Attention: exp"));
}

TEST(SetWhere, SelectingARoleSkipsClassesWithoutTheField) {
  TinyRoot root = mixed_root();
  const SetWhere::Config modifier{
      .select = "Block", .where = {{"norm", "RMSNorm"}}, .set = {{"norm.eps", "0.5"}}};
  // The two norms of [2] are in its attention and in its feed-forward part.
  EXPECT_THAT(report_of(modifier, root).matched,
              ElementsAre(kPattern + "[0]", kPattern + "[1]", kPattern + "[2].attention",
                          kPattern + "[2].feed_forward"));
}

TEST(SetWhere, SetsOptionsAndClasses) {
  TinyRoot root = mixed_root();
  const SetWhere::Config modifier{.select = "RoPE",
                                  .at = "**.pattern[0].**",
                                  .set = {{"@dtype", "bf16"}, {"inner", "SeparateQKV"}}};
  const auto rewrites = apply_modifier(modifier, "modify[0]", root);
  ASSERT_EQ(rewrites.size(), 2u);
  EXPECT_EQ(rewrites[1].what, "FusedQKV -> SeparateQKV");
  EXPECT_THAT(rewrites[1].report.matched, ElementsAre(kPattern + "[0].body.qkv.inner"));
}

TEST(SetWhere, TakesAnyPredicateInCpp) {
  TinyRoot root = mixed_root();
  const auto is_odd = [](const std::string& path, const AnyConfig& config) {
    return path.ends_with("attention.body") ||
           config.get_if<Attention::Config>()->num_heads.get() < 4;
  };
  const auto rewrites =
      set_where(root, {.type = &typeid(Attention), .where = is_odd}, {{"head_dim", "6"}});
  EXPECT_THAT(rewrites.at(0).report.matched,
              ElementsAre(kPattern + "[0].body", kPattern + "[2].attention.body"));
}

TEST(SetWhere, LossEqualsThatOfATreeWithTheseFields) {
  TinyRoot by_hand;
  by_hand.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->output_norm.get_if<RMSNorm>()->eps =
      0.25f;
  const SetWhere::Config modifier{
      .select = "Norm", .at = "**.output_norm", .set = {{"eps", "0.25"}}};
  EXPECT_EQ(step_of(modified_by(modifier)).loss, step_of(by_hand).loss);
  EXPECT_NE(step_of(by_hand).loss, step_of({}).loss);
}

TEST(SetWhere, NamesEveryMistake) {
  const auto error = [](const SetWhere::Config& cfg) {
    return error_of([&] {
      TinyRoot root = mixed_root();
      apply_modifier(cfg, "modify[0]", root);
    });
  };
  EXPECT_THAT(error({.select = "Attention"}), HasSubstr("SetWhere.set: expected at least one"));
  EXPECT_THAT(error({.select = "Atention", .set = {{"num_heads", "2"}}}),
              ::testing::StartsWith("SetWhere.select: no class is called 'Atention'"));
  EXPECT_THAT(error({.select = "Attention", .set = {{"num_hds", "2"}, {"head_dim", "x"}}}),
              ::testing::AllOf(HasSubstr(kPattern + "[0].body.num_hds: no such field"),
                               HasSubstr(kPattern + "[0].body.head_dim: expected an integer"),
                               HasSubstr(kPattern + "[2].attention.body.num_hds: no such field")));
  EXPECT_THAT(error({.select = "QKV", .where = {{"thta", "1"}}, .set = {{"theta", "2"}}}),
              HasSubstr("SetWhere.where.thta: no such field; did you mean 'theta'?"));
  EXPECT_THAT(error({.select = "QKV", .where = {{"theta", "x"}}, .set = {{"theta", "2"}}}),
              HasSubstr("SetWhere.where.theta: expected a number"));
  EXPECT_THAT(
      error({.select = "Attention", .where = {{"num_heads", "3"}}, .set = {{"head_dim", "2"}}}),
      HasSubstr("Attention: expected at least one that has what 'where' asks for, got none (at "
                "'**': model.decoder."));
  EXPECT_THAT(error({.select = "Attention",
                     .at = "**.nowhere",
                     .where = {{"num_heads", "3"}},
                     .set = {{"head_dim", "2"}}}),
              HasSubstr("Attention: expected at least one match at '**.nowhere', got none"));
  EXPECT_THAT(error({.select = "LayerNorm", .where = {{"eps", "7"}}, .set = {{"eps", "2"}}}),
              HasSubstr("LayerNorm: expected at least one match at '**', got none"));
}

}  // namespace
}  // namespace axle
