#include "train/mup/mup.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "config/document/print.h"
#include "layers/blocks/pattern.h"
#include "layers/experts/moe.h"
#include "layers/models/causal_lm.h"
#include "layers/models/lm_head.h"
#include "learn/transforms/scale_by_path.h"
#include "testing/error_of.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

// A model of width 64, whose hyperparameters were found at width 16.
Trainer::Config wide() {
  Trainer::Config out = tiny_config();
  auto* decoder = out.model.get_if<CausalLM>()->decoder.get_if<Decoder>();
  decoder->model_dim = 64;
  decoder->lm_head = LmHead::Config{};
  decoder->layers.get_if<Stacked>()
      ->layer->get_if<TransformerLayer>()
      ->feed_forward.get_if<PreNorm>()
      ->body.get_if<FeedForward>()
      ->hidden_dim = FixedDim{96};
  return out;
}
MuP::Config mup() {
  return {.base = {{"model.decoder.model_dim", "16"},
                   {"model.decoder.layers.layer.feed_forward.body.hidden_dim", "32"}}};
}
Child<Modifier> mup_model_dim() { return MuP::Config{.base = {{"model.decoder.model_dim", "16"}}}; }
void apply(const Child<Modifier>& modifier, Trainer::Config& config) {
  modifier.build({}, Scope{})->apply(config);
}

// Returns the factor of the variance that each weight starts with.
std::map<std::string, double> initial_scales(const Trainer::Config& config) {
  std::map<std::string, double> out;
  for (const auto& [path, spec] : config.model.build({}, Scope{.path = "model"})->param_specs()) {
    const auto* init = spec.init->functor().get_if<VarianceScaling>();
    if (init) out[path] = init->scale;
  }
  return out;
}

TEST(MuP, ScalesRatesByTheGrowthOfTheInputs) {
  Trainer::Config config = wide();
  apply(mup(), config);
  const auto& transforms = config.learner.get_if<Learner>()->update_transforms;
  ASSERT_EQ(transforms.size(), 1u);
  const NumbersByPath& scales = transforms[0].get_if<ScaleByPath>()->scales;
  const auto scale = [&](const std::string& path) {
    const auto it = scales.find("model.decoder." + path);
    return it == scales.end() ? 1.0 : double{it->second};
  };
  const std::string layer = "layers.layer0.";
  EXPECT_EQ(scale("emb.weight"), 1);  // its inputs are tokens
  EXPECT_EQ(scale("output_norm.scale"), 1);
  EXPECT_EQ(scale(layer + "feed_forward.norm.scale"), 1);
  EXPECT_EQ(scale(layer + "feed_forward.body.up.weight"), 1.0 / 4);
  EXPECT_EQ(scale(layer + "feed_forward.body.down.weight"), 1.0 / 3);
  EXPECT_EQ(scale("lm_head.weight"), 1.0 / 4);
}

TEST(MuP, ScalesTheInitialOutputWeights) {
  Trainer::Config config = wide();
  std::map<std::string, double> expected = initial_scales(config);
  EXPECT_EQ(expected.size(), 12u);
  expected.at("model/decoder/lm_head/weight") /= 4;
  apply(mup(), config);
  EXPECT_EQ(initial_scales(config), expected);
}

// Heads grow from 4 to 16: q k / sqrt(4) becomes q k * sqrt(4) / 16.
TEST(MuP, DividesTheLogitsByTheGrowthOfTheHeads) {
  for (const bool is_loop : {false, true}) {
    Trainer::Config config = wide();
    auto& decoder = *config.model.get_if<CausalLM>()->decoder.get_if<Decoder>();
    decoder.layers = is_loop ? tiny_loop() : tiny_stack();
    const Trainer::Config before = config;
    const auto report = mup_model_dim().build({}, Scope{})->apply(config);
    const std::string field = "model.decoder.layers.layer.attention.body.core.scale";
    EXPECT_THAT(report[0].report.matched, ::testing::Contains(field));
    EXPECT_TRUE(report[0].report.skipped.empty());
    EXPECT_THAT(diff(before, config), HasSubstr(field));
    EXPECT_THAT(diff(before, config), HasSubstr("0.125"));
  }
  // A pattern's layers have slots of other names: the report says what to set.
  Trainer::Config config = wide();
  auto& decoder = *config.model.get_if<CausalLM>()->decoder.get_if<Decoder>();
  decoder.layers = Pattern::Config{.num_layers = 1, .pattern = {tiny_layer()}};
  const RewriteReport report = mup_model_dim().build({}, Scope{})->apply(config)[0].report;
  ASSERT_EQ(report.skipped.size(), 1u);
  EXPECT_THAT(report.skipped[0].why,
              HasSubstr("heads grow from 4 to 16: divide the factor of the queries by 4"));
}

TEST(MuP, RefusesHiddenWeightsOfAFixedSize) {
  for (const Init& init : {Init(Gaussian{.std = 0.02}), Init(VarianceScaling{.scale = 0.02,
                                                        .fan = Fan::kNone,
                                                        .distribution = Distribution::kNormal})}) {
    Trainer::Config config = wide();
    config.model.options.init = init;
    EXPECT_THAT(error_of<ConfigError>([&] { apply(mup(), config); }),
                HasSubstr("MuP: expected hidden weights that start by VarianceScaling with a fan, "
                          "got a fixed size for model.decoder.layers.layer0."));
  }
}

// The layers of a pattern have no slots with the names of their parameters.
TEST(MuP, ScalesTheInitialWeightsOfRoutersInAPattern) {
  Trainer::Config config = wide();
  auto& decoder = *config.model.get_if<CausalLM>()->decoder.get_if<Decoder>();
  decoder.layers = Pattern::Config{
      .num_layers = 2,
      .pattern = {PreNorm::Config{.body = MoE::Config{.num_experts = 4}}, tiny_layer()}};
  std::map<std::string, double> expected = initial_scales(config);
  for (const char* layer : {"lm_head", "layers/groups/layer/layer0/body/router"})
    expected.at(fmt::format("model/decoder/{}/weight", layer)) /= 4;
  // Its hidden layer has a fixed width.
  for (const char* layer : {"gate", "up"})
    expected.at(fmt::format("model/decoder/layers/groups/layer/layer1/feed_forward/body/{}/weight",
                            layer)) /= 4;
  apply(MuP::Config{.base = {{"model.decoder.model_dim", "16"}}}, config);
  EXPECT_EQ(initial_scales(config), expected);
}

TEST(MuP, AppliedTwiceChangesNothingMore) {
  Trainer::Config once = wide(), twice = wide();
  apply(mup(), once);
  apply(mup(), twice);
  apply(mup(), twice);
  EXPECT_EQ(diff(once, twice), "");
}

TEST(MuP, RefusesOtherModels) {
  const auto refusal = [](MuP::Config modifier) {
    Trainer::Config config = wide();
    return error_of<ConfigError>([&] { apply(modifier, config); });
  };
  EXPECT_EQ(refusal({}), "MuP.base: expected a model of another width, got one of the same");
  EXPECT_THAT(refusal({.base = {{"model.decoder.layers.num_layers", "1"}}}),
              HasSubstr("MuP.base: expected a model with the same parameters in other sizes, got "
                        "another model/decoder/layers/layer1/"));
  EXPECT_THAT(refusal({.base = {{"model.decoder.width", "1"}}}),
              HasSubstr("model.decoder.width: no such field"));
}

}  // namespace
}  // namespace axle
