// MuP keeps the size of activations and updates in every family: four times as wide.
#include "recipes/mup_coordinates_test.h"
#include "recipes/mup_families_test.h"
#include "testing/plugin_fixture.h"

namespace axle {
namespace {

class FamilyCoordinates : public PluginTest, public ::testing::WithParamInterface<MuPFamily> {};

TEST_P(FamilyCoordinates, KeepTheirSize) {
  const Trainer::Config config = GetParam().config();
  CoordinateRun base(*runtime_, widened_by_mup(config, 1));
  CoordinateRun wide(*runtime_, widened_by_mup(config, 4));
  expect_same_size(wide.measure(1), base.measure(1), 1.5);
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyCoordinates,
                         ::testing::ValuesIn(mup_families(Families::kQuick)), kNamedByRecipe);

// The check sees a table that is the head, whose logits do not follow the width.
TEST_F(PluginTest, CoordinatesOfAnUnscaledTiedHeadGrow) {
  const Trainer::Config config = mup_families(Families::kQuick).front().config();
  Trainer::Config wide = widened_by_mup(config, 4);
  set(wide, "model.decoder.emb.attend_scale", "1");
  const double before = CoordinateRun(*runtime_, widened_by_mup(config, 1)).measure(1).logits;
  EXPECT_GT(CoordinateRun(*runtime_, wide).measure(1).logits, 1.5 * before);
}

}  // namespace
}  // namespace axle
