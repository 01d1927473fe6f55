#include <gmock/gmock.h>

#include "layers/attention/cores/scored_core.h"
#include "layers/attention/cores/transformer_xl_attention.h"
#include "modifiers/attention/set_attention.h"
#include "modifiers/tiny_step_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

const std::string kCore = "model.decoder.layers.layer.attention.body.core";

TEST(SetCore, KeepsTheFieldsThatItDoesNotSet) {
  TinyRoot root;
  auto& layers = root.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->layers;
  auto& attention = *layers.get_if<Stacked>()
                         ->layer->get_if<TransformerLayer>()
                         ->attention.get_if<PreNorm>()
                         ->body.get_if<Attention>();
  attention.core = SoftmaxAttention::Config{.logit_cap = 30};
  const RewriteReport report =
      apply_modifier(SetCore::Config{.core = SigmoidAttention::Config{.bias_len = 8}}, "modify",
                     root)
          .at(0)
          .report;
  EXPECT_EQ(report.matched, std::vector<std::string>{kCore});
  EXPECT_THAT(report.carried, ::testing::Contains(kCore + ".logit_cap"));
  const auto* core = layers.get_if<Stacked>()
                         ->layer->get_if<TransformerLayer>()
                         ->attention.get_if<PreNorm>()
                         ->body.get_if<Attention>()
                         ->core.get_if<SigmoidAttention>();
  ASSERT_NE(core, nullptr);
  EXPECT_EQ(double{*core->logit_cap}, 30);
  EXPECT_EQ(int64_t{*core->bias_len}, 8);
}

TEST(SetCore, LossEqualsThatOfAModelWithThisCore) {
  const SetCore::Config modifier{.core = SoftmaxAttention::Config{.logit_cap = 0.5}};
  TinyRoot by_hand;
  by_hand.model.get_if<CausalLM>()
      ->decoder.get_if<Decoder>()
      ->layers.get_if<Stacked>()
      ->layer->get_if<TransformerLayer>()
      ->attention.get_if<PreNorm>()
      ->body.get_if<Attention>()
      ->core = SoftmaxAttention::Config{.logit_cap = 0.5};
  EXPECT_EQ(step_of(modified_by(modifier)).loss, step_of(by_hand).loss);
  EXPECT_NE(step_of(by_hand).loss, step_of({}).loss);
}

TEST(SetCore, NamesThePatternThatMatchesNothing) {
  TinyRoot root;
  EXPECT_THAT(error_of([&] { apply_modifier(SetCore::Config{.at = "**.cor"}, "modify", root); }),
              ::testing::HasSubstr("AttentionCore: expected at least one match at '**.cor', got "
                                   "none"));
}

}  // namespace
}  // namespace axle
