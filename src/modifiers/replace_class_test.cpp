#include <gmock/gmock.h>

#include "layers/norms/norm.h"
#include "modifiers/field_modifiers.h"
#include "modifiers/tiny_step_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

TEST(ReplaceClass, ReplacesEveryMatchAndNothingElse) {
  TinyRoot root;
  Child<Modifier>(ReplaceClass::Config{.replace = "RMSNorm", .with = "LayerNorm"})
      .build({}, Scope{})
      ->apply(root);
  int norms = 0;
  for (const ConfigLine& line : to_lines(root)) {
    EXPECT_NE(line.text, "RMSNorm") << line.path;
    norms += line.text == "LayerNorm";
  }
  EXPECT_EQ(norms, 3);
  for (const ConfigChange& change : changes(TinyRoot{}, root))
    EXPECT_THAT(change.path, HasSubstr("norm"));
}

TEST(ReplaceClass, LossEqualsThatOfATreeWithTheNewClass) {
  const Child<Norm> norm = LayerNorm::Config{};
  const TransformerLayer::Config layer{
      .attention = PreNorm::Config{.norm = norm, .body = Attention::Config{.num_heads = 2}},
      .feed_forward = PreNorm::Config{.norm = norm, .body = FeedForward::Config{}}};
  TinyRoot by_hand;
  auto& decoder = *by_hand.model.get_if<CausalLM>()->decoder.get_if<Decoder>();
  decoder.layers = Stacked::Config{.num_layers = 1, .layer = layer};
  decoder.output_norm = norm;
  const ReplaceClass::Config modifier{.replace = "RMSNorm", .with = "LayerNorm"};
  const TinyStep expected = step_of(by_hand), replaced = step_of(modified_by(modifier));
  EXPECT_EQ(replaced.loss, expected.loss);
  EXPECT_EQ(replaced.gradients, expected.gradients);
  EXPECT_NE(replaced.loss, step_of({}).loss);
}

TEST(ReplaceClass, ReplacesOnlyAtMatchingPaths) {
  EXPECT_THAT(changes_by(ReplaceClass::Config{
                  .replace = "Norm", .with = "LayerNorm", .at = "model.decoder.output_norm"}),
              ::testing::StartsWith("model.decoder.output_norm: RMSNorm -> LayerNorm\n"));
}

TEST(ReplaceClass, UnknownAndMissingNamesAreReported) {
  const auto error = [](const ReplaceClass::Config& cfg) {
    return error_of([&] { changes_by(cfg); });
  };
  EXPECT_THAT(error({.replace = "RMSNrm", .with = "LayerNorm"}),
              ::testing::StartsWith("ReplaceClass.replace: no class is called 'RMSNrm'"));
  EXPECT_THAT(error({.replace = "RMSNorm", .with = "LayerNrm"}),
              ::testing::StartsWith("ReplaceClass.with: no class is called 'LayerNrm'"));
  EXPECT_THAT(error({.replace = "RMSNorm", .with = "FeedForward"}), HasSubstr("FeedForward"));
  EXPECT_THAT(error({.replace = "LayerNorm", .with = "GroupNorm"}), HasSubstr("LayerNorm"));
  EXPECT_THAT(error({.replace = "RMSNorm", .with = "LayerNorm", .where = {{"epss", "1"}}}),
              HasSubstr("ReplaceClass.where.epss: no such field; did you mean 'eps'?"));
  EXPECT_THAT(error({.replace = "RMSNorm", .with = "LayerNorm", .where = {{"eps", "7"}}}),
              HasSubstr("RMSNorm: expected at least one that has what 'where' asks for, got none"));
}

TEST(ReplaceClass, AClassThatIsNotThereIsAnErrorUnlessAllowed) {
  // The tree has the new class in many fields, and never had the old one.
  const Child<Modifier> modifier = ReplaceClass::Config{.replace = "LayerNorm", .with = "RMSNorm"};
  TinyRoot root;
  EXPECT_THAT(error_of([&] { apply_modifier(modifier, "modify[0]", root); }),
              ::testing::StartsWith("LayerNorm: expected at least one match at '**', got none"));
  Child<Modifier> allowed = modifier;
  allowed.options.allow_none = true;
  EXPECT_TRUE(apply_modifier(allowed, "modify[0]", root).at(0).report.unchanged.empty());
  EXPECT_EQ(to_string(root), to_string(TinyRoot{}));
  // Of a role, those that are as wanted are said to be so.
  root.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->output_norm = LayerNorm::Config{};
  const auto report = apply_modifier(ReplaceClass::Config{.replace = "Norm", .with = "LayerNorm"},
                                     "modify[0]", root);
  EXPECT_EQ(report[0].report.unchanged, std::vector<std::string>{"model.decoder.output_norm"});
  EXPECT_EQ(report[0].report.matched.size(), 2u);
}

TEST(ReplaceClass, SetsFieldsOfTheNewClassWhereTheOldOneMatches) {
  TinyRoot root;
  root.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->output_norm =
      RMSNorm::Config{.eps = 0.5f};
  const ReplaceClass::Config modifier{.replace = "RMSNorm",
                                      .with = "LayerNorm",
                                      .set = {{"eps", "0.25"}},
                                      .where = {{"eps", "0.5"}}};
  const auto report = apply_modifier(modifier, "modify[0]", root);
  ASSERT_EQ(report.size(), 1u);
  EXPECT_EQ(report[0].report.matched, std::vector<std::string>{"model.decoder.output_norm"});
  EXPECT_EQ(root.model.get_if<CausalLM>()
                ->decoder.get_if<Decoder>()
                ->output_norm.get_if<LayerNorm>()
                ->eps,
            0.25f);
}

}  // namespace
}  // namespace axle
