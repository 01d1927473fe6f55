// What the modifiers of trainers set. Their laws are in recipes/modifier_laws_test.cpp.
#include <gmock/gmock.h>

#include "config/print.h"
#include "layers/blocks/stack.h"
#include "layers/experts/moe.h"
#include "testing/error_of.h"
#include "train/modifiers/run_modifiers.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

std::string changes_by(const Child<Modifier>& modifier) {
  Trainer::Config config = tiny_config();
  apply_modifier(modifier, "modify", config);
  return diff(tiny_config(), config);
}

TEST(GradientAccumulation, SetsThePartsOfABatch) {
  EXPECT_EQ(changes_by(GradientAccumulation::Config{.microbatches = 4}),
            "learner.microbatches: 1 -> 4\n");
}

TEST(SetEma, TheAverageIsAddedAndRemoved) {
  EXPECT_EQ(changes_by(SetEma::Config{.ema = ParamEma{.decay = ConstantRate{.value = 0.5}}}),
            "learner.ema: none (gone)\n"
            "learner.ema.decay: ConstantRate (new)\nlearner.ema.decay.value: 0.5 (new)\n");
  Trainer::Config config = tiny_config();
  apply_modifier(SetEma::Config{}, "modify", config);
  apply_modifier(SetEma::Config{.ema = std::nullopt}, "modify", config);
  EXPECT_EQ(diff(tiny_config(), config), "");
}

TEST(DtypePolicy, ParametersAreReachedByPathAndByName) {
  Trainer::Config config = tiny_config();
  const DtypePolicy::Config policy{.params = DType::kBF16,
                                   .rules = {{.pattern = "**.norm.scale", .dtype = DType::kF32}},
                                   .at = "model.decoder.layers"};
  apply_modifier(policy, "modify", config);
  const auto specs = config.model.build({}, Scope{.path = "model"})->param_specs();
  int narrow = 0;
  for (const auto& [path, spec] : specs) {
    const bool is_wide = !path.starts_with("model/decoder/layers/") || path.ends_with("norm/scale");
    EXPECT_EQ(spec.type().dtype, is_wide ? DType::kF32 : DType::kBF16) << path;
    narrow += !is_wide;
  }
  EXPECT_GT(narrow, 4);
}

TEST(DtypePolicy, ComputeDTypesAreSetByPath) {
  Trainer::Config config = tiny_config();
  config.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->layers = Pattern::Config{
      .num_layers = 3,
      .pattern = {tiny_layer(), PreNorm::Config{.body = MoE::Config{.num_experts = 4}},
                  tiny_layer()}};
  apply_modifier(DtypePolicy::Config{.compute = DType::kBF16}, "modify", config);
  EXPECT_EQ(config.compute_dtype->value, DType::kBF16);
  const auto rewrites =
      apply_modifier(DtypePolicy::Config{.compute = DType::kF32,
                                         .at = "model.decoder.layers.pattern[*].feed_forward"},
                     "modify", config);
  ASSERT_EQ(rewrites.size(), 1u);
  EXPECT_EQ(rewrites[0].what, "DtypePolicy @compute");
  EXPECT_THAT(rewrites[0].report.matched,
              ::testing::ElementsAre("model.decoder.layers.pattern[0].feed_forward",
                                     "model.decoder.layers.pattern[2].feed_forward"));
  EXPECT_EQ(config.compute_dtype->value, DType::kBF16);
  int count = 0;
  for (const auto& [path, spec] : config.model.build({}, Scope{.path = "model"})->param_specs()) {
    const bool is_inside = path.find("/feed_forward/") != path.npos;
    EXPECT_EQ(spec.compute, is_inside ? std::optional(DType::kF32) : std::nullopt) << path;
    count += is_inside;
  }
  EXPECT_EQ(count, 8);
}

TEST(DtypePolicy, WantsSomethingToSet) {
  EXPECT_EQ(error_of([] { changes_by(DtypePolicy::Config{}); }),
            "DtypePolicy: expected params, rules or compute, got none; set one of them");
  EXPECT_THAT(
      error_of([] { changes_by(DtypePolicy::Config{.params = DType::kBF16, .at = "modell"}); }),
      ::testing::HasSubstr("DtypePolicy.at: expected the path of a layer slot"));
}

}  // namespace
}  // namespace axle
