#include "train/mup/mup.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "config/print.h"
#include "config/register.h"
#include "config/set.h"
#include "layers/blocks/stack.h"
#include "layers/experts/moe.h"
#include "layers/models/causal_lm.h"
#include "learn/optimizer_groups.h"
#include "learn/optimizers/adam.h"
#include "learn/optimizers/matrix_optimizers.h"
#include "learn/optimizers/sgd.h"
#include "learn/optimizers/sophia.h"
#include "learn/optimizers/wrapping_optimizers.h"
#include "learn/transforms/gradient_transforms.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "testing/error_of.h"
#include "train/mup/wide_model_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

// Returns the factor of the variance that each weight starts with.
std::map<std::string, double> initial_scales(const Trainer::Config& config) {
  std::map<std::string, double> out;
  for (const auto& [path, spec] : config.model.build({}, Scope{.path = "model"})->param_specs()) {
    const auto* init = spec.init->functor().get_if<VarianceScaling>();
    if (init) out[path] = init->scale;
  }
  return out;
}

// Returns the variance that each weight starts with.
std::map<std::string, double> variances(const Trainer::Config& config) {
  std::map<std::string, double> out;
  for (const auto& [path, spec] : config.model.build({}, Scope{.path = "model"})->param_specs()) {
    if (const auto* init = spec.init->functor().get_if<VarianceScaling>())
      out[path] = init->scale / fan_size({.shape = spec.shape, .fan = spec.fan}, init->fan);
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
  // Of the mean of both fans: the variance 1 / 24 becomes 1 / 24 / 16.
  expected.at("model/decoder/lm_head/weight") *= 48.0 / 24 / 16;
  // The vectors of tokens keep their size.
  expected.at("model/decoder/emb/weight") *= 4;
  apply(mup(), config);
  const std::map<std::string, double> got = initial_scales(config);
  for (const auto& [path, scale] : expected) {
    if (path.find("/layers/") != std::string::npos) continue;  // hidden weights
    EXPECT_NEAR(got.at(path), scale, 1e-9) << path;
  }
}

// The variance of every weight, with that of its fan: 1 / inputs, or its square for outputs.
TEST(MuP, VariancesFollowTheGrowth) {
  Trainer::Config base = wide(), config = wide();
  for (const auto& [path, value] : mup().base) set(base, path, value);
  apply(mup(), config);
  const auto before = variances(base), after = variances(config);
  const auto ratio = [&](const std::string& path) {
    return before.at("model/decoder/" + path) / after.at("model/decoder/" + path);
  };
  EXPECT_NEAR(ratio("emb/weight"), 1, 1e-9);
  EXPECT_NEAR(ratio("lm_head/weight"), 16, 1e-9);
  for (const char* layer : {"layer0", "layer1"}) {
    const std::string at = fmt::format("layers/{}/", layer);
    EXPECT_NEAR(ratio(at + "feed_forward/body/up/weight"), 4, 1e-9);
    EXPECT_NEAR(ratio(at + "feed_forward/body/down/weight"), 3, 1e-9);
    EXPECT_NEAR(ratio(at + "attention/body/qkv/inner/weight"), 4, 1e-9);
  }
}

// The table of a tied head keeps its rate; its logits are divided by the growth.
TEST(MuP, DividesTheLogitsOfATableThatIsTheHead) {
  Trainer::Config config = wide();
  auto& decoder = *config.model.get_if<CausalLM>()->decoder.get_if<Decoder>();
  decoder.lm_head = std::nullopt;
  const Trainer::Config tied = config;
  const auto report = Child<Modifier>(mup()).build({}, Scope{})->apply(config)[0].report;
  EXPECT_THAT(report.matched, ::testing::Contains("model.decoder.emb.attend_scale"));
  EXPECT_EQ(decoder.emb.get_if<Embedding>()->attend_scale, 0.25);
  const NumbersByPath& scales =
      config.learner.get_if<Learner>()->update_transforms[0].get_if<ScaleByPath>()->scales;
  EXPECT_FALSE(scales.contains("model.decoder.emb.weight"));
  // Vectors times the root of the width: the table has a smaller rate, and the head a larger
  // factor.
  config = tied;
  auto& emb = *config.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->emb.get_if<Embedding>();
  emb.scale = RootOfDim{};
  apply(mup(), config);
  EXPECT_EQ(emb.attend_scale, 0.5);
  EXPECT_EQ(
      double{
          config.learner.get_if<Learner>()->update_transforms[0].get_if<ScaleByPath>()->scales.at(
              "model.decoder.emb.weight")},
      0.5);
}

// An embedding of another class, without a factor of its logits.
class OwnEmbedding final : public TokenEmbedding {
 public:
  struct Config {
    AXLE_CONFIG(OwnEmbedding)
  };
  OwnEmbedding(const Config&, const Dims& dims, const Scope& scope)
      : TokenEmbedding(scope),
        vocab_size_(dims.vocab_size),
        weight_(param("weight", {.shape = {dims.vocab_size, dims.model_dim}})) {}
  int64_t vocab_size() const override { return vocab_size_; }

 protected:
  Tensor forward(const Tensor& ids_BT) override { return take(weight_(), ids_BT); }
  Tensor attend_forward(const Tensor& x_BTD) override {
    return einsum("...d,vd->...v", x_BTD, weight_());
  }

 private:
  int64_t vocab_size_;
  Param weight_;
};
AXLE_REGISTER(OwnEmbedding)

TEST(MuP, RefusesATiedHeadWithoutAFactor) {
  Trainer::Config config = wide();
  auto& decoder = *config.model.get_if<CausalLM>()->decoder.get_if<Decoder>();
  decoder.lm_head = std::nullopt;
  decoder.emb = OwnEmbedding::Config{};
  EXPECT_THAT(error_of<ConfigError>([&] { apply(mup(), config); }),
              HasSubstr("MuP: model.decoder.emb: expected an Embedding"));
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
  decoder_of(config).layers = Pattern::Config{
      .num_layers = 2,
      .pattern = {PreNorm::Config{.body = MoE::Config{.num_experts = 4}}, tiny_layer()}};
  Trainer::Config base = config;
  decoder_of(base).model_dim = 16;
  apply(mup_model_dim(), config);
  const auto before = variances(base), after = variances(config);
  const std::string layers = "layers/groups/layer/";
  // The hidden layer of the second one has a fixed width.
  for (const std::string& layer :
       {std::string("lm_head"), layers + "layer0/body/router",
        layers + "layer1/feed_forward/body/gate", layers + "layer1/feed_forward/body/up"}) {
    const std::string path = fmt::format("model/decoder/{}/weight", layer);
    EXPECT_NEAR(before.at(path) / after.at(path), 16, 1e-9) << path;
  }
}

TEST(MuP, NamesGroupsWithRatesOfTheirOwn) {
  Trainer::Config config = wide();
  auto& optimizer = config.learner.get_if<Learner>()->optimizer;
  optimizer = OptimizerGroups::Config{.others = optimizer};
  const auto report = Child<Modifier>(mup()).build({}, Scope{})->apply(config)[0].report;
  ASSERT_EQ(report.skipped.size(), 1u);
  EXPECT_EQ(report.skipped[0].path, "learner.optimizer");
  EXPECT_THAT(report.skipped[0].why, HasSubstr("count as rates of the base model"));
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
  EXPECT_EQ(
      refusal({}),
      "MuP.base: expected a model of another width, got one of the same; set the width before "
      "MuP: flags apply from left to right, and in a file 'set' comes after 'modify', where "
      "SetFields can stand before MuP");
  EXPECT_THAT(refusal({.base = {{"model.decoder.layers.num_layers", "1"}}}),
              HasSubstr("MuP.base: expected a model with the same parameters in other sizes, got "
                        "another model/decoder/layers/layer1/"));
}

// A mistake of the base names the modifier and what the base sets.
TEST(MuP, NamesTheBaseInItsMistakes) {
  const auto refusal = [](MuP::Config modifier) {
    Trainer::Config config = wide();
    return error_of<ConfigError>([&] { apply(modifier, config); });
  };
  EXPECT_THAT(refusal({.base = {{"model.decoder.width", "1"}}}),
              ::testing::StartsWith("MuP.base: with model.decoder.width=1: model.decoder.width: no "
                                    "such field"));
  EXPECT_THAT(refusal({.base = {{"model.decoder.model_dim", "15"}}}),
              ::testing::StartsWith("MuP.base: with model.decoder.model_dim=15: model.decoder."));
  // The run's own mistakes do not.
  Trainer::Config config = wide();
  decoder_of(config).model_dim = 15;
  EXPECT_THAT(error_of<ConfigError>([&] { apply(mup(), config); }),
              ::testing::StartsWith("model.decoder."));
}

// Returns the factors of the rates with this optimizer.
std::map<std::string, double> rates_with(const Child<Optimizer>& optimizer,
                                         const Trainer::Config& model = wide()) {
  Trainer::Config config = model;
  Learner::Config& learner = *config.learner.get_if<Learner>();
  learner.optimizer = optimizer;
  learner.transforms = {};
  apply(mup(), config);
  std::map<std::string, double> out;
  for (const auto& [path, scale] : learner.update_transforms[0].get_if<ScaleByPath>()->scales)
    out[path.substr(std::string("model.decoder.").size())] = scale;
  return out;
}
const Schedule kRate = ConstantRate{.value = 0.1};

// Inputs of `up` and the head grow by 4, and its outputs by 3 and not at all.
TEST(MuP, RatesFollowTheUpdatesOfTheOptimizer) {
  const std::string up = "layers.layer0.feed_forward.body.up.weight", head = "lm_head.weight",
                    norm = "output_norm.scale", emb = "emb.weight";
  const auto expect = [&](const Child<Optimizer>& optimizer,
                          const std::map<std::string, double>& expected) {
    SCOPED_TRACE(optimizer.any().type().name);
    const std::map<std::string, double> got = rates_with(optimizer);
    for (const std::string& path : {up, head, norm, emb}) {
      const auto it = got.find(path), wanted = expected.find(path);
      EXPECT_NEAR(it == got.end() ? 1 : it->second, wanted == expected.end() ? 1 : wanted->second,
                  1e-9)
          << path;
    }
  };
  const std::map<std::string, double> elements = {{up, 0.25}, {head, 0.25}};
  const Child<Optimizer> adamw = AdamW::Config{.learning_rate = kRate},
                         sgd = Sgd::Config{.learning_rate = kRate},
                         lamb = Lamb::Config{.learning_rate = kRate};
  const std::map<std::string, double> gradient = {{up, 0.75}, {head, 0.25}, {norm, 4}, {emb, 4}};
  expect(adamw, elements);
  expect(Lion::Config{.learning_rate = kRate}, elements);
  expect(Soap::Config{.learning_rate = kRate, .others = adamw}, elements);
  expect(sgd, gradient);
  expect(lamb, {{up, 0.5}});  // the head's weights are smaller by 4 already
  // Those around others and groups ask the ones inside.
  expect(SkipAndClip::Config{.inner = SkipAndClip::Config{.inner = adamw}}, elements);
  expect(
      OptimizerGroups::Config{
          .groups = {{"ends",
                      {.params = {"**.emb.weight", "**.lm_head.weight"}, .optimizer = sgd}}},
          .others = adamw},
      {{up, 0.25}, {head, 0.25}, {emb, 4}});
  // Matrices of 64 rows and 96 columns have a gain of 0.2 sqrt(96), or of sqrt(96 / 64); in the
  // base they are half as large.
  const double wanted = std::sqrt(64.0 * 96) / 64, before = std::sqrt(16.0 * 32) / 16;
  const auto muon = [&](MuonScale scale) {
    return Muon::Config{.learning_rate = kRate, .scale = scale, .others = sgd};
  };
  expect(muon(MuonScale::kAdam), {{up, wanted / std::sqrt(96.0) / (before / std::sqrt(32.0))},
                                  {head, 0.25},
                                  {norm, 4},
                                  {emb, 4}});
  expect(muon(MuonScale::kSpectral), {{head, 0.25}, {norm, 4}, {emb, 4}});
}

TEST(MuP, RefusesUpdatesOfUnknownSize) {
  const auto refusal = [](const Child<Optimizer>& optimizer,
                          const std::vector<Child<GradientTransform>>& transforms) {
    Trainer::Config config = wide();
    Learner::Config& learner = *config.learner.get_if<Learner>();
    learner.optimizer = optimizer;
    learner.transforms = transforms;
    return error_of<ConfigError>([&] { apply(mup(), config); });
  };
  const std::string unknown =
      "MuP: learner.optimizer: expected updates whose size at another width is known, as that of "
      "AdamW, Lion, Muon or Sgd without clipping, got those of {} for model.decoder.{}; take "
      "another optimizer";
  const Child<Optimizer> sgd = Sgd::Config{.learning_rate = kRate};
  EXPECT_EQ(refusal(Sophia::Config{.learning_rate = kRate}, {}),
            fmt::format(fmt::runtime(unknown), "Sophia", "emb.weight"));
  // A factor of its updates would not scale its iterates.
  EXPECT_EQ(refusal(ScheduleFree::Config{.inner = sgd}, {}),
            fmt::format(fmt::runtime(unknown), "ScheduleFree", "emb.weight"));
  EXPECT_EQ(refusal(SkipAndClip::Config{.inner = sgd}, {}),
            fmt::format(fmt::runtime(unknown), "SkipAndClip", "emb.weight"));
  EXPECT_EQ(refusal(
                OptimizerGroups::Config{
                    .groups = {{"head",
                                {.params = {"**.lm_head.weight"},
                                 .optimizer = Sophia::Config{.learning_rate = kRate}}}},
                    .others = sgd},
                {}),
            fmt::format(fmt::runtime(unknown), "OptimizerGroups", "lm_head.weight"));
  EXPECT_EQ(refusal(sgd, {ReportGradients::Config{}, ClipByGlobalNorm::Config{}}),
            "MuP: learner.transforms[1]: expected none that changes the size of gradients before "
            "an optimizer whose updates follow it, got ClipByGlobalNorm; leave it out");
  EXPECT_EQ(refusal(AdamW::Config{.learning_rate = kRate}, {ClipByGlobalNorm::Config{}}),
            "no error");
  EXPECT_EQ(refusal(Muon::Config{.learning_rate = kRate, .exclude = {}, .others = sgd}, {}),
            "MuP: learner.optimizer: expected matrices whose inputs are activations, got "
            "model.decoder.emb.weight, a table of embeddings; exclude it");
}

// Frozen parameters have no rate.
TEST(MuP, ScalesNoRateOfFrozenParameters) {
  Trainer::Config config = wide();
  Learner::Config& learner = *config.learner.get_if<Learner>();
  learner.frozen = {"**.lm_head.weight"};
  apply(mup(), config);
  EXPECT_FALSE(learner.update_transforms[0].get_if<ScaleByPath>()->scales.contains(
      "model.decoder.lm_head.weight"));
  const Tree<ParamSpec> specs = config.model.build({}, Scope{.path = "model"})->param_specs();
  EXPECT_NO_THROW(config.learner.build({.params = specs, .run_steps = 10}, Scope{}));
}

}  // namespace
}  // namespace axle
