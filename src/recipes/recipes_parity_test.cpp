// Recipes against the published ones: the numbers of the training run that both have. Parameters:
// see inspect/parameter_table_parity_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "io/file.h"
#include "layers/attention.h"
#include "layers/pre_norm.h"
#include "layers/rms_norm.h"
#include "layers/rope.h"
#include "learn/clip_by_global_norm.h"
#include "learn/test_program_test.h"
#include "testing/checkout.h"
#include "train/trainer.h"

namespace axle {
namespace {

using Json = nlohmann::json;

class RecipesParity : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string path = reference_file("axlearn/params/" + GetParam() + ".json");
    published_ = Json::parse(read_file(path));
    config_ = recipe(GetParam());
  }
  // The published number at this path, which must be there.
  double number(const std::string& path) const {
    const Json& all = published_.at("hyperparameters");
    EXPECT_TRUE(all.contains(path)) << path;
    return std::stod(all.value(path, "nan"));
  }
  Json published_;
  Trainer::Config config_;
};

TEST_P(RecipesParity, Learner) {
  const auto* learner = config_.learner.get_if<Learner>();
  ASSERT_TRUE(learner);
  const auto* adamw = learner->optimizer.get_if<AdamW>();
  ASSERT_TRUE(adamw);
  ASSERT_EQ(learner->transforms.size(), 1u);
  const auto* clip = learner->transforms[0].get_if<ClipByGlobalNorm>();
  ASSERT_TRUE(clip);
  EXPECT_EQ(clip->max_norm, number("learner.optimizer.args[0].max_norm"));
  EXPECT_EQ(clip->eps, number("learner.optimizer.args[0].eps"));
  const std::string theirs = "learner.optimizer.args[1].";
  EXPECT_EQ(adamw->b1, number(theirs + "b1"));
  EXPECT_EQ(adamw->b2, number(theirs + "b2"));
  EXPECT_EQ(adamw->eps, number(theirs + "eps"));
  EXPECT_EQ(adamw->weight_decay, number(theirs + "weight_decay"));
  const auto* schedule = adamw->learning_rate.functor().get_if<CosineWithWarmup>();
  // One published recipe has a constant rate.
  ASSERT_EQ(schedule != nullptr,
            published_.at("hyperparameters").contains(theirs + "update_schedule.max_step"));
  if (schedule) {
    EXPECT_EQ(schedule->max_step ? int64_t{*schedule->max_step} : int64_t{*config_.max_steps},
              static_cast<int64_t>(number(theirs + "update_schedule.max_step")));
    EXPECT_EQ(schedule->warmup_steps,
              static_cast<int64_t>(number(theirs + "update_schedule.warmup_steps")));
  }
}

// What the first update of a step adds to a parameter of value `param` whose gradient is
// `gradient`.
double update(const AdamW::Config& config, int64_t step, float param, float gradient) {
  const HostTree params = {{"w", HostTensor::scalar(param)}},
                 gradients = {{"w", HostTensor::scalar(gradient)}};
  const AdamW optimizer(config, {specs_of(params)}, {.path = "learner.optimizer"});
  const HostTree state =
      run_trees([&](const auto& in) { return optimizer.initialize(in[0]); }, {params});
  const HostTree done = run_trees(
      [&](const std::vector<Tree<Tensor>>& in) {
        return optimizer.update({in[0], in[1], in[2], in[3].at("step")}).updates;
      },
      {gradients, params, state, {{"step", HostTensor::scalar(static_cast<int32_t>(step))}}});
  return done.at("w").at(0);
}

// The published rule multiplies rate and decay by one schedule of peak 1, and the decay by nothing
// else; ours multiplies the decay by the learning rate too, as the papers do (docs/recipes.md).
TEST_P(RecipesParity, WeightDecayIsThePublishedRuleTimesThePeakLearningRate) {
  tie_to_run(config_.learner, config_.max_steps);
  const AdamW::Config ours = *config_.learner.get_if<Learner>()->optimizer.get_if<AdamW>();
  AdamW::Config published = ours;
  published.decay_factor = DecayFactor::kOne;
  double peak = 0;
  std::vector<int64_t> steps = {1, 2};
  if (const auto* cosine = ours.learning_rate.functor().get_if<CosineWithWarmup>()) {
    peak = cosine->peak;
    const std::string theirs = "learner.optimizer.args[1].update_schedule.";
    published.update_schedule =
        CosineWithWarmup{.peak = number(theirs + "peak_lr"),
                         .warmup_steps = static_cast<int64_t>(number(theirs + "warmup_steps")),
                         .max_step = static_cast<int64_t>(number(theirs + "max_step")),
                         .alpha = cosine->alpha};
    steps = {1, cosine->warmup_steps, *cosine->max_step / 2, *cosine->max_step};
  } else {
    peak = ours.learning_rate.functor().get_if<ConstantRate>()->value;
  }
  published.learning_rate = ConstantRate{.value = peak};
  for (const int64_t step : steps) {
    SCOPED_TRACE(step);
    const double adam = update(ours, step, 0, 0.5);
    EXPECT_LT(adam, 0);
    EXPECT_NEAR(update(published, step, 0, 0.5), adam, 1e-6 * std::abs(adam));
    const double decay = update(ours, step, 2, 0), theirs = update(published, step, 2, 0);
    EXPECT_LT(decay, 0);
    EXPECT_NEAR(theirs * peak, decay, 1e-6 * std::abs(decay));
    EXPECT_NEAR(update(ours, step, 2, 0.5), adam + decay, 1e-6 * std::abs(adam + decay));
  }
}

TEST_P(RecipesParity, Numbers) {
  EXPECT_EQ(config_.max_steps, static_cast<int64_t>(number("max_step")));
  const Json& all = published_.at("hyperparameters");
  ASSERT_EQ(config_.mesh.axes.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    const std::string at = fmt::format("[{}]", i);
    EXPECT_EQ(config_.mesh.axes[i].name, all.at("mesh_axis_names" + at).get<std::string>());
    EXPECT_EQ(config_.mesh.axes[i].size, static_cast<int64_t>(number("mesh_shape" + at)));
  }
  const auto* decoder = config_.model.get_if<CausalLM>()->decoder.get_if<Decoder>();
  EXPECT_EQ(decoder->model_dim, static_cast<int64_t>(number("model.decoder.dim")));
  EXPECT_EQ(decoder->vocab_size, static_cast<int64_t>(number("model.decoder.vocab_size")));
  const std::string transformer = "model.decoder.transformer.",
                    mixer = transformer + "layer.self_attention.attention.";
  const auto* repeat = decoder->layers.get_if<Repeat>();
  EXPECT_EQ(repeat->num_layers, static_cast<int64_t>(number(transformer + "num_layers")));
  const auto* layer = repeat->layer.get_if<TransformerLayer>();
  const auto eps_of = [](const Child<Norm>& norm) {
    return static_cast<double>(norm.get_if<RMSNorm>()->eps);
  };
  const auto* attention = layer->attention.get_if<PreNorm>();
  EXPECT_FLOAT_EQ(eps_of(attention->norm), number(transformer + "layer.self_attention.norm.eps"));
  EXPECT_FLOAT_EQ(eps_of(layer->feed_forward.get_if<PreNorm>()->norm),
                  number(transformer + "layer.feed_forward.norm.eps"));
  EXPECT_FLOAT_EQ(eps_of(decoder->output_norm), number("model.decoder.output_norm.eps"));
  const auto* body = attention->body.get_if<Attention>();
  EXPECT_EQ(body->num_heads, static_cast<int64_t>(number(mixer + "num_heads")));
  const std::string kv_heads = mixer + "input_linear.input_linear.num_kv_heads";
  if (all.contains(kv_heads)) {
    EXPECT_EQ(body->num_kv_heads, static_cast<int64_t>(number(kv_heads)));
  }
  EXPECT_EQ(body->qkv.get_if<RoPE>()->theta,
            number(mixer + "input_linear.rope_pos_emb_layer.theta"));
}

INSTANTIATE_TEST_SUITE_P(All, RecipesParity,
                         testing::Values("fuji-1B-v3", "fuji-7B-v1", "fuji-7B-v2",
                                         "fuji-golden-run-test-v1", "fuji-test-v1"),
                         [](const auto& c) {
                           std::string name = c.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace axle
