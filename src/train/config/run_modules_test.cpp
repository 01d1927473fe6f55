// A run that cannot be built reports every mistake of its model and its learner.
#include "train/config/run_modules.h"

#include <gmock/gmock.h>

#include "layers/attention/caches/bounded_kv_caches.h"
#include "layers/norms/batch_norms.h"
#include "learn/learner.h"
#include "learn/optimizer_groups.h"
#include "learn/schedules/schedules.h"
#include "testing/error_of.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

Thrown mistakes_of(const Trainer::Config& config) {
  return thrown_by([&] { RunModules modules(config); });
}
Decoder::Config& decoder_of(Trainer::Config& config) {
  return *config.model.get_if<CausalLM>()->decoder.get_if<Decoder>();
}
Attention::Config& attention_of(Trainer::Config& config) {
  return *decoder_of(config)
              .layers.get_if<Stacked>()
              ->layer->get_if<TransformerLayer>()
              ->attention.get_if<PreNorm>()
              ->body.get_if<Attention>();
}

const std::string kHeads =
    "model.decoder.layers.layer.attention.body.num_kv_heads: must divide num_heads, got 3 and 4";
const std::string kNorm =
    "model.decoder.output_norm.num_groups: must divide the 16 channels, got 5";
const std::string kRate =
    "learner.optimizer.learning_rate.max_step: must be after the warm-up, got 5 and warmup_steps "
    "= 10";
const std::string kDecay = "learner.ema.decay: expected a number from 0 to 1 at step 1, got 1.5";

AdamW::Config& adamw_of(Trainer::Config& config) {
  return *config.learner.get_if<Learner>()->optimizer.get_if<AdamW>();
}
void break_heads(Trainer::Config& config) { attention_of(config).num_kv_heads = 3; }
void break_norm(Trainer::Config& config) {
  decoder_of(config).output_norm = GroupNorm::Config{.num_groups = 5};
}
void break_rate(Trainer::Config& config) {
  adamw_of(config).learning_rate =
      CosineWithWarmup{.peak = 1e-3, .warmup_steps = 10, .max_step = 5};
}

TEST(RunModules, OneMistakeIsTheWholeError) {
  Trainer::Config config = tiny_config();
  EXPECT_EQ(mistakes_of(config).message, "no error");
  break_heads(config);
  EXPECT_EQ(mistakes_of(config).message, kHeads);
  config = tiny_config();
  break_rate(config);
  EXPECT_EQ(mistakes_of(config).message, kRate);
}

TEST(RunModules, EveryMistakeOfModelAndLearnerInOneError) {
  Trainer::Config config = tiny_config();
  break_heads(config);
  break_norm(config);
  break_rate(config);
  attention_of(config).kv_cache = SlidingKVCache::Config{.window = 64};
  config.learner.get_if<Learner>()->ema = ParamEma{.decay = ConstantRate{.value = 1.5}};
  const Thrown thrown = mistakes_of(config);
  EXPECT_EQ(thrown.message,
            kHeads +
                "\nmodel.decoder.layers.layer.attention.body.kv_cache.window: expected a mask "
                "with a window of at most 64 positions, got a mask without a window; use "
                "SlidingWindowMask, a larger window, or DenseKVCache\n" +
                kNorm + "\n" + kRate + "\n" + kDecay);
  EXPECT_EQ(thrown.code, ExitCode::kUser);
}

TEST(RunModules, PatternsOfALearnerAreToldBesideMistakesOfTheModel) {
  Trainer::Config config = tiny_config();
  config.learner.get_if<Learner>()->frozen = {"**.wight"};
  adamw_of(config).weight_decay_scales = {{"**.nrm.*", 0}};
  const std::string patterns =
      "learner.frozen: '**.wight' matches no parameter\n"
      "learner.optimizer.weight_decay_scales: '**.nrm.*' matches no parameter";
  EXPECT_EQ(mistakes_of(config).message, patterns);
  break_heads(config);
  EXPECT_EQ(mistakes_of(config).message, std::string(kHeads) + "\n" + patterns);
}

TEST(RunModules, TrainedParametersAreExceptionsOfFrozenOnes) {
  Trainer::Config config = tiny_config();
  Learner::Config& learner = *config.learner.get_if<Learner>();
  learner.trained = {"**.norm.scale"};
  const std::string none_of_them =
      "learner.trained: expected patterns of parameters that learner.frozen matches, got "
      "'**.norm.scale', which names none of them; take it out, or freeze more";
  EXPECT_EQ(mistakes_of(config).message, none_of_them);
  learner.frozen = {"**.emb.weight"};
  EXPECT_EQ(mistakes_of(config).message, none_of_them);
  learner.trained = {"**.nope"};
  EXPECT_EQ(mistakes_of(config).message, "learner.trained: '**.nope' matches no parameter")
      << "told once";
  learner.trained = {"**.norm.scale"};
  learner.frozen = {"**.scale"};
  EXPECT_EQ(mistakes_of(config).message, "no error");
}

TEST(RunModules, RulesByNameMatchAParameter) {
  Trainer::Config config = tiny_config();
  config.learner.get_if<Learner>()->undecayed = {"scales"};
  const std::string undecayed =
      "learner.undecayed: no parameter is named 'scales'; did you mean 'scale'?";
  EXPECT_EQ(mistakes_of(config).message, undecayed);
  config.model.options.dtypes = {{.pattern = "**.norm.scale", .dtype = DType::kBF16},
                                 {.pattern = "**.nrm.scale", .dtype = DType::kBF16}};
  config.model.options.init =
      InitByName{.rules = {{.pattern = "**.emb.weight", .init = Zeros{}},
                           {.pattern = "**.embedding.weight", .init = Zeros{}}}};
  EXPECT_EQ(mistakes_of(config).message,
            "model.@dtypes[1].pattern: '**.nrm.scale' matches no parameter\n"
            "model.@init.rules[1].pattern: '**.embedding.weight' matches no parameter\n" +
                undecayed);
}

TEST(RunModules, NamesWithoutDecayAreLastPartsOfPaths) {
  const auto mistakes = [](const std::vector<std::string>& names) {
    Trainer::Config config = tiny_config();
    config.learner.get_if<Learner>()->undecayed = names;
    return mistakes_of(config).message;
  };
  EXPECT_EQ(mistakes({"scale", "bias"}), "no error");  // a model need not have both
  EXPECT_EQ(mistakes({"gain"}), "learner.undecayed: no parameter is named 'gain'");
  for (const std::string name : {"**.scale", "norm.scale", "norm/scale"}) {
    EXPECT_EQ(mistakes({"scale", name}),
              "learner.undecayed: expected the last part of a parameter's path, such as scale, got "
              "'" +
                  name + "'");
  }
}

TEST(RunModules, EveryOptimizerOfAGroupIsChecked) {
  Trainer::Config config = tiny_config();
  break_rate(config);
  const Child<Optimizer> faulty = adamw_of(config);
  config.learner.get_if<Learner>()->optimizer = OptimizerGroups::Config{
      .groups = {{"norms", {.params = {"**.norm.scale"}, .optimizer = faulty}},
                 {"typo", {.params = {"**.nrm.*"}, .optimizer = faulty}}},
      .others = faulty};
  const auto rate = [](const std::string& place) {
    return "learner.optimizer." + place +
           ".learning_rate.max_step: must be after the warm-up, got 5 and warmup_steps = 10";
  };
  EXPECT_EQ(mistakes_of(config).message,
            rate("groups.norms.optimizer") +
                "\nlearner.optimizer.groups.typo.params: '**.nrm.*' matches no parameter\n" +
                rate("groups.typo.optimizer") + "\n" + rate("others"));
}

}  // namespace
}  // namespace axle
