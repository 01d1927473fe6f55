#include "modifiers/preference_tuning.h"

#include <gmock/gmock.h>

#include "config/walk.h"
#include "layers/models/beside_frozen.h"
#include "layers/products/lora_product.h"
#include "modifiers/products/product_modifiers.h"
#include "recipes/recipe.h"
#include "train/config/trainer_config.h"

namespace axle {
namespace {

int count_adapters(ConfigRef root) {
  int out = 0;
  for_each_config<LoraProduct>(root, [&](const std::string&, auto&) { ++out; });
  return out;
}

TEST(PreferenceTuning, ReferenceOwnsOnlyItsAdapters) {
  Trainer::Config config = recipe("fuji-test-v1");
  apply_modifier(Lora::Config{.rank = 2}, "modify[0]", config);
  const int adapters = count_adapters(config.model);
  ASSERT_GT(adapters, 0);
  const Child<Modifier> tuning = PreferenceTuning::Config{.beta = 0.3, .label_smoothing = 0.1};
  apply_modifier(tuning, "modify[1]", config);
  auto* const tuned = config.model.get_if<PreferenceLM>();
  ASSERT_NE(tuned, nullptr);
  EXPECT_EQ(tuned->beta, 0.3);
  EXPECT_EQ(tuned->label_smoothing, 0.1);
  EXPECT_EQ(count_adapters(tuned->policy), adapters);
  EXPECT_EQ(count_adapters(tuned->reference), adapters);
  EXPECT_THAT(tuned->own, ::testing::ElementsAre("**.lora_down", "**.lora_up"));
  // A second time changes nothing.
  const auto again = apply_modifier(tuning, "modify[2]", config);
  EXPECT_THAT(again.at(0).report.unchanged, ::testing::ElementsAre("model"));
  EXPECT_EQ(config.model.get_if<PreferenceLM>()->policy.get_if<PreferenceLM>(), nullptr);
}

TEST(PreferenceTuning, ReferenceOfATrainedModelOwnsAllParameters) {
  Trainer::Config config = recipe("fuji-test-v1");
  apply_modifier(PreferenceTuning::Config{}, "modify[0]", config);
  const auto* const tuned = config.model.get_if<PreferenceLM>();
  EXPECT_THAT(tuned->own, ::testing::ElementsAre("**"));
  EXPECT_EQ(tuned->reference.options.dtype, DType::kBF16);  // what the recipe computes in
}

}  // namespace
}  // namespace axle
