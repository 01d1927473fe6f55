#include "modifiers/set_fields.h"

#include <gmock/gmock.h>

#include "modifiers/tiny_root_test.h"
#include "testing/error_of.h"

namespace axle {
namespace {

TEST(SetFields, SetsEachPathAndNothingElse) {
  EXPECT_EQ(
      changes_by(SetFields::Config{
          .set = {{"max_steps", "7"}, {"model.decoder.model_dim", "12"}, {"mesh", "data=2"}}}),
      "model.decoder.model_dim: 8 -> 12\nmesh: '' -> data=2\nmax_steps: 10 -> 7\n");
  EXPECT_EQ(changes_by(SetFields::Config{}), "");
}

TEST(SetFields, NamesWhatItCannotSet) {
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
