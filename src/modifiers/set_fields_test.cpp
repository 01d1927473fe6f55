#include <gmock/gmock.h>

#include "modifiers/field_modifiers.h"
#include "modifiers/tiny_step_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

TEST(SetFields, SetsEachPathAndNothingElse) {
  EXPECT_EQ(
      changes_by(SetFields::Config{
          .set = {{"max_steps", "7"}, {"model.decoder.model_dim", "12"}, {"mesh", "data=2"}}}),
      "model.decoder.model_dim: 8 -> 12\nmesh: '' -> data=2\nmax_steps: 10 -> 7\n");
}

TEST(SetFields, LossEqualsThatOfATreeWithTheseFields) {
  TinyRoot by_hand;
  auto& model = *by_hand.model.get_if<CausalLM>();
  model.z_loss_scale = 0.5;
  model.decoder.get_if<Decoder>()->output_norm.get_if<RMSNorm>()->eps = 0.25f;
  const SetFields::Config modifier{
      .set = {{"model.z_loss_scale", "0.5"}, {"model.decoder.output_norm.eps", "0.25"}}};
  const TinyStep expected = step_of(by_hand), changed = step_of(modified_by(modifier));
  EXPECT_EQ(changed.loss, expected.loss);
  EXPECT_EQ(changed.gradients, expected.gradients);
  EXPECT_NE(changed.loss, step_of({}).loss);
}

TEST(SetFields, NamesWhatItCannotSet) {
  EXPECT_EQ(error_of([] { changes_by(SetFields::Config{}); }),
            "SetFields.set: expected at least one field, got none; name it with its value");
  EXPECT_THAT(error_of([] {
                changes_by(SetFields::Config{.set = {{"max_step", "7"}}});
              }),
              ::testing::HasSubstr("max_step: no such field; did you mean 'max_steps'?"));
  EXPECT_THAT(error_of([] {
                changes_by(SetFields::Config{.set = {{"max_steps", "many"}}});
              }),
              ::testing::HasSubstr("max_steps: expected"));
}

}  // namespace
}  // namespace axle
