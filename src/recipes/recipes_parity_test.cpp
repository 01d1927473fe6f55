// Compares recipes with the published ones: the numbers of the training run. For the parameters,
// see comparison/parameter_table_parity_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "io/file.h"
#include "layers/attention/attention.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/norm_placements.h"
#include "layers/models/causal_lm.h"
#include "layers/norms/norm.h"
#include "learn/test_program_test.h"
#include "learn/transforms/gradient_transforms.h"
#include "recipes/recipe.h"
#include "testing/checkout.h"
#include "testing/test_name.h"
#include "train/config/trainer_config.h"

namespace axle {
namespace {

using Json = nlohmann::json;

class RecipesParity : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string path = reference_file("axlearn/params/" + GetParam() + ".json");
    published_ = Json::parse(read_file(path));
    config_ = recipe(GetParam());
  }
  // Returns the published number at this path, which must exist.
  double number(const std::string& path) const {
    const Json& all = published_.at("hyperparameters");
    EXPECT_TRUE(all.contains(path)) << path;
    return std::stod(all.value(path, "nan"));
  }
  std::string text(const std::string& path) const {
    return published_.at("hyperparameters").value(path, "none");
  }
  bool has(const std::string& path) const {
    return published_.at("hyperparameters").contains(path);
  }
  // Returns the published optimizer in our terms; all numbers come from the published config. Its
  // rule multiplies learning rate and weight decay by one schedule, and the decay by nothing else.
  AdamW::Config published_adamw() const {
    EXPECT_EQ(text(kTheirs + "fn"), "axlearn.common.optimizers.adamw_decoupled_optimizer");
    AdamW::Config out{.learning_rate = ConstantRate{.value = number(kTheirs + "learning_rate")},
                      .b1 = number(kTheirs + "b1"),
                      .b2 = number(kTheirs + "b2"),
                      .eps = number(kTheirs + "eps"),
                      .weight_decay = number(kTheirs + "weight_decay"),
                      .decay_factor = DecayFactor::kOne};
    const std::string schedule = kTheirs + "update_schedule";
    if (has(schedule)) {  // one recipe has a constant rate
      out.update_schedule = ConstantRate{.value = number(schedule)};
    } else {
      EXPECT_EQ(text(schedule + ".fn"), "axlearn.common.schedule.cosine_with_linear_warmup");
      out.update_schedule =
          CosineWithWarmup{.peak = number(schedule + ".peak_lr"),
                           .warmup_steps = static_cast<int64_t>(number(schedule + ".warmup_steps")),
                           .max_step = static_cast<int64_t>(number(schedule + ".max_step")),
                           .begin = number(schedule + ".begin_value"),
                           .alpha = number(schedule + ".alpha")};
    }
    return out;
  }
  static inline const std::string kTheirs = "learner.optimizer.args[1].";
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
  EXPECT_EQ(text("learner.optimizer.args[0].fn"), "axlearn.common.optimizers.clip_by_global_norm");
  const AdamW::Config published = published_adamw();
  EXPECT_EQ(adamw->b1, published.b1);
  EXPECT_EQ(adamw->b2, published.b2);
  EXPECT_EQ(adamw->eps, published.eps);
  EXPECT_EQ(adamw->weight_decay, published.weight_decay);
  const double rate = number(kTheirs + "learning_rate");
  const auto* cosine = published.update_schedule.functor().get_if<CosineWithWarmup>();
  const auto* ours = adamw->learning_rate.functor().get_if<CosineWithWarmup>();
  ASSERT_EQ(ours != nullptr, cosine != nullptr);
  if (cosine) {
    EXPECT_DOUBLE_EQ(*ours->peak, rate * *cosine->peak);
    EXPECT_EQ(ours->max_step ? int64_t{*ours->max_step} : int64_t{*config_.max_steps},
              int64_t{*cosine->max_step});
    EXPECT_EQ(ours->warmup_steps, cosine->warmup_steps);
    EXPECT_EQ(ours->begin, cosine->begin);
    EXPECT_EQ(ours->alpha, cosine->alpha);
  } else {
    EXPECT_EQ(adamw->learning_rate.functor().get_if<ConstantRate>()->value, rate);
  }
}

// Returns what an update at `step` with fresh state adds to a parameter of value `param` with
// gradient `gradient`.
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

// Our rule also multiplies the decay by the learning rate, as the papers do (docs/recipes.md).
TEST_P(RecipesParity, WeightDecayIsThePublishedRuleTimesThePeakLearningRate) {
  set_schedule_ends(config_.learner, config_.max_steps);
  const AdamW::Config ours = *config_.learner.get_if<Learner>()->optimizer.get_if<AdamW>();
  const AdamW::Config published = published_adamw();
  const double rate = number(kTheirs + "learning_rate");
  std::vector<int64_t> steps = {1, 2};
  if (const auto* cosine = published.update_schedule.functor().get_if<CosineWithWarmup>())
    steps = {1, cosine->warmup_steps, *cosine->max_step / 2, *cosine->max_step};
  for (const int64_t step : steps) {
    SCOPED_TRACE(step);
    const double adam = update(ours, step, 0, 0.5);
    EXPECT_LT(adam, 0);
    EXPECT_NEAR(update(published, step, 0, 0.5), adam, 1e-6 * std::abs(adam));
    const double decay = update(ours, step, 2, 0), theirs = update(published, step, 2, 0);
    EXPECT_LT(decay, 0);
    EXPECT_NEAR(theirs * rate, decay, 1e-6 * std::abs(decay));
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
                         ::testing::Values("fuji-1B-v3", "fuji-1B-v3-tiktoken", "fuji-3B-v3",
                                           "fuji-3B-v3-tiktoken", "fuji-7B-v1", "fuji-7B-v2",
                                           "fuji-7B-v3", "fuji-8B-v3-tiktoken", "fuji-70B-v1",
                                           "fuji-70B-v2", "fuji-70B-v3", "fuji-70B-v3-tiktoken",
                                           "fuji-405B-v3", "fuji-405B-v3-tiktoken", "fuji-test-v1",
                                           "fuji-test-v2", "fuji-test-v3",
                                           "fuji-golden-run-test-v1"),
                         kNamedByText);

}  // namespace
}  // namespace axle
