// MuP keeps the size of activations and updates in every family: four times as wide.
#include "recipes/mup_coordinates_test.h"
#include "recipes/mup_families_test.h"
#include "recipes/mup_optimizers_test.h"
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

class OptimizerCoordinates : public PluginTest,
                             public ::testing::WithParamInterface<MuPOptimizer> {};

TEST_P(OptimizerCoordinates, KeepTheirSize) {
  const Child<Optimizer>& optimizer = GetParam().config;
  CoordinateRun base(*runtime_, widened_by_mup(small_model(), 1, optimizer));
  CoordinateRun wide(*runtime_, widened_by_mup(small_model(), 4, optimizer));
  expect_same_size(wide.measure(1), base.measure(1), 1.5);
}

INSTANTIATE_TEST_SUITE_P(Kinds, OptimizerCoordinates,
                         ::testing::ValuesIn(mup_optimizers(OptimizersOf::kEachKind)),
                         kNamedByOptimizer);

// The check sees rates that belong to another kind of updates.
TEST_F(PluginTest, CoordinatesShrinkWithTheRatesOfAdam) {
  const Child<Optimizer> sgd = mup_optimizers(OptimizersOf::kEachKind).front().config;
  const auto update_transforms = [](Trainer::Config & config) -> auto& {
    return config.learner.get_if<Learner>()->update_transforms;
  };
  Trainer::Config of_adam = widened_by_mup(small_model(), 4);
  Trainer::Config wide = widened_by_mup(small_model(), 4, sgd);
  update_transforms(wide) = update_transforms(of_adam);
  CoordinateRun base(*runtime_, widened_by_mup(small_model(), 1, sgd));
  EXPECT_LT(CoordinateRun(*runtime_, wide).measure(1).change_of_hidden,
            base.measure(1).change_of_hidden / 1.5);
}

// Heads become larger, not more: their logits are divided by the growth.
TEST_F(PluginTest, CoordinatesOfLargerHeadsKeepTheirSize) {
  const auto model = [](int64_t factor) {
    return widened_by_mup(small_model(), factor, adamw(), Widening::kLargerHeads);
  };
  const std::string scale = "model.decoder.layers.layer.attention.body.core.scale: ";
  EXPECT_NE(to_string(model(1)).find(scale + "none"), std::string::npos);
  EXPECT_EQ(to_string(model(4)).find(scale + "none"), std::string::npos);
  CoordinateRun base(*runtime_, model(1)), wide(*runtime_, model(4));
  expect_same_size(wide.measure(1), base.measure(1), 1.5);
}

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
