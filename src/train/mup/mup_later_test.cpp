// Changes that come after MuP: those that leave its scales as they are, and the others.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "config/set.h"
#include "modifiers/products/product_modifiers.h"
#include "testing/error_of.h"
#include "train/mup/wide_model_test.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Changes = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kOrder =
    "flags apply from left to right, and in a file 'set' comes after 'modify', where SetFields can "
    "stand before MuP";
constexpr const char* kRate = "what the scale of its rate follows from";

// Returns the refusal of changes that come after MuP.
std::string refusal_of_later(const Changes& changes, Trainer::Config config = wide(),
                             const Child<Modifier>& modifier = mup()) {
  const Rewrite rewrite = modifier.build({}, Scope{})->apply(config)[0];
  for (const auto& [path, text] : changes) set(config, path, text);
  return error_of<ConfigError>([&] { rewrite.check(config); });
}
// Returns the refusal of MuP after these changes.
std::string refusal_after(const Changes& changes) {
  Trainer::Config config = wide();
  for (const auto& [path, text] : changes) set(config, path, text);
  return error_of<ConfigError>([&] { apply(mup(), config); });
}
std::string refused(const std::string& path, const std::string& what) {
  return "MuP: " + path + ": expected no later change of " + what +
         ", got one; make it before MuP: " + kOrder;
}

TEST(MuPLater, ChangesThatLeaveItsScalesAreGood) {
  EXPECT_EQ(refusal_of_later({}), "no error");
  EXPECT_EQ(refusal_of_later({{"model.decoder.dropout", "Dropout"},
                              {"model.decoder.output_norm", "LayerNorm"},
                              {"model.decoder.lm_head.product", "Fp8Product"},
                              {"learner.optimizer.weight_decay", "0.5"},
                              {"learner.optimizer", "Lion"},
                              {"learner.optimizer.learning_rate", "0.1"},
                              {"learner.frozen", "[\"**.output_norm.*\"]"}}),
            "no error");
}

TEST(MuPLater, ChangesThatDoNotSuitItsScalesAreRefused) {
  const std::string first = "model.decoder.layers.layer0.attention.body.output.weight";
  EXPECT_EQ(refusal_of_later({{"model.decoder.model_dim", "32"}}), refused(first, kRate));
  for (const auto& [count, last] : {std::pair{"3", "layer2"}, std::pair{"1", "layer1"}}) {
    EXPECT_EQ(
        refusal_of_later({{"model.decoder.layers.num_layers", count}}),
        refused(fmt::format("model.decoder.layers.{}.attention.body.output.weight", last), kRate));
  }
  EXPECT_EQ(refusal_of_later({{"model.decoder.lm_head", "none"}}),
            refused("model.decoder.lm_head.weight", kRate))
      << "a weight that is gone";
  EXPECT_EQ(refusal_of_later({{"learner.optimizer", "{class: Sgd, learning_rate: 0.1}"},
                              {"learner.transforms", "[]"}}),
            refused(first, kRate));
  EXPECT_EQ(refusal_of_later({{"model.decoder.emb.scale", "RootOfDim"}}),
            refused("model.decoder.emb.weight", kRate));
  EXPECT_EQ(refusal_of_later({{"learner.update_transforms", "[]"}}),
            refused("learner.update_transforms", "the rates that it has set"));
  EXPECT_EQ(refusal_of_later({{"model.@init", "VarianceScaling"}}),
            refused("model", "what it has set there"));
  // Of weights that it did not have to set, the initialiser alone has changed.
  EXPECT_EQ(
      refusal_of_later({{"model.decoder.layers.@init", "{class: VarianceScaling, fan: fan_in}"}}),
      refused("model.decoder.layers.layer0.feed_forward.body.down.weight",
              "what the scale of its initial weights follows from"));
}

// Heads of 16 in both models: only their growth tells that later ones are twice as large.
TEST(MuPLater, ADifferentNumberOfHeadsIsRefused) {
  Trainer::Config config = wide();
  const MuP::Config modifier{
      .base = {{"model.decoder.model_dim", "16"},
               {"model.decoder.layers.layer.attention.body.num_heads", "1"},
               {"model.decoder.layers.layer.attention.body.num_kv_heads", "1"}}};
  EXPECT_EQ(refusal_of_later({}, config, modifier), "no error");
  EXPECT_EQ(refusal_of_later({{"model.decoder.layers.layer.attention.body.num_heads", "2"},
                              {"model.decoder.layers.layer.attention.body.num_kv_heads", "2"}},
                             config, modifier),
            refused("model.decoder.layers.layer0.attention.body", "the size of its heads"));
}

// Hidden weights of a fixed size start too large in the wider model, whenever they are set.
TEST(MuPLater, InitialisersOfAFixedSizeAreRefusedInEitherOrder) {
  const std::string layer = "model.decoder.layers.layer";
  for (const char* fixed :
       {"{class: Gaussian, std: 0.02}", "{class: VarianceScaling, scale: 0.02, fan: none}"}) {
    for (const std::string& slot :
         {std::string("model.decoder"), std::string("model.decoder.layers"), layer,
          layer + ".feed_forward.body.up"}) {
      SCOPED_TRACE(slot + ": " + fixed);
      const Changes change = {{slot + ".@init", fixed}};
      const std::string before = refusal_after(change), after = refusal_of_later(change);
      for (const std::string& refusal : {before, after}) {
        EXPECT_THAT(refusal, StartsWith("MuP: "));
        EXPECT_EQ(refusal.find('\n'), refusal.npos);
      }
      EXPECT_THAT(after, AllOf(HasSubstr("got a fixed size for "),
                               HasSubstr("layers.layer0.feed_forward.body.up.weight"),
                               EndsWith("; set @init")));
    }
  }
}

// A rate of a weight that is not trained is no mistake, also where the learner is built.
TEST(MuPLater, WeightsWithARateMayBeFrozen) {
  const std::string frozen = "[\"**.attention.**\", \"**.lm_head.weight\"]";
  EXPECT_EQ(refusal_of_later({{"learner.frozen", frozen}}), "no error");
  Trainer::Config config = wide();
  apply(mup(), config);
  set(config, "learner.frozen", frozen);
  const Tree<ParamSpec> specs = config.model.build({}, Scope{.path = "model"})->param_specs();
  EXPECT_NO_THROW(config.learner.build({.params = specs, .run_steps = 10}, Scope{}));
  // A weight that had no rate since it was frozen, and is trained now, has one.
  Trainer::Config before = wide();
  set(before, "learner.frozen", "[\"**.lm_head.weight\"]");
  EXPECT_EQ(refusal_of_later({{"learner.frozen", "[]"}}, before),
            refused("model.decoder.lm_head.weight", kRate));
}

// Weights of adapters have scales of their own.
TEST(MuPLater, AdaptersComeBeforeIt) {
  const auto refusal = [](bool is_first) {
    Trainer::Config config = wide();
    const Child<Modifier> lora = Lora::Config{.rank = 4};
    if (is_first) apply(lora, config);
    return error_of<ConfigError>([&] {
      const Rewrite rewrite = Child<Modifier>(mup()).build({}, Scope{})->apply(config)[0];
      if (!is_first) apply(lora, config);
      rewrite.check(config);
      const Tree<ParamSpec> specs = config.model.build({}, Scope{.path = "model"})->param_specs();
      config.learner.build({.params = specs, .run_steps = 10}, Scope{});
    });
  };
  EXPECT_EQ(refusal(true), "no error");
  EXPECT_EQ(refusal(false),
            refused("model.decoder.layers.layer0.attention.body.output.product.lora_down", kRate));
}

// Of a table that is the head as well, MuP scales the logits.
TEST(MuPLater, ChangesOfATiedTableAreRefused) {
  Trainer::Config tied = wide();
  decoder_of(tied).lm_head = {};
  EXPECT_EQ(refusal_of_later({}, tied), "no error");
  EXPECT_THAT(refusal_of_later({{"model.decoder.emb.attend_scale", "1"}}, tied),
              HasSubstr("MuP: model.decoder.emb.attend_scale: expected no later change of what it "
                        "has set there"));
}

TEST(MuPLater, FieldsThatAreNotSetAreNamed) {
  EXPECT_EQ(
      refusal_after({{"learner.optimizer", "{class: AdamW}"}}),
      "MuP: REQUIRED but not set: learner.optimizer.learning_rate.peak; set each before MuP: " +
          std::string(kOrder));
  EXPECT_EQ(refusal_after({{"model.decoder.@init", "Gaussian"}}),
            "MuP: REQUIRED but not set: model.decoder.@init.std; set each before MuP: " +
                std::string(kOrder));
  // Later ones are named where the config is checked.
  EXPECT_EQ(refusal_of_later({{"model.decoder.@init", "Gaussian"}}), "no error");
}

}  // namespace
}  // namespace axle
