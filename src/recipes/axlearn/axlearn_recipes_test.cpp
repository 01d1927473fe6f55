// Compares Gala, Honeycrisp, Envy, GSPMD and a Qwen3 with the published configs: the numbers of the
// run and one update. For the parameters, see comparison/parameter_table_parity_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/text_input.h"
#include "io/file.h"
#include "layers/models/causal_lm.h"
#include "layers/pipeline/pipeline.h"
#include "learn/optimizers/adafactor.h"
#include "learn/schedules/schedules.h"
#include "learn/test_program_test.h"
#include "recipes/recipe.h"
#include "testing/checkout.h"
#include "testing/test_name.h"
#include "train/config/trainer_config.h"

namespace axle {
namespace {

using Json = nlohmann::json;

// Returns the published config of a recipe by path, as texts.
Json published_config(const std::string& name) {
  return Json::parse(read_file(reference_file("axlearn/params/" + name + ".json")))
      .at("hyperparameters");
}

class AxlearnRecipes : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    published_ = published_config(GetParam());
    config_ = recipe(GetParam());
  }
  // Returns the published number at the first path that ends so.
  double number(std::string_view end) const {
    for (const auto& [path, value] : published_.items()) {
      if (path.ends_with(end)) return std::stod(value.get<std::string>());
    }
    ADD_FAILURE() << end;
    return 0;
  }
  bool has(const std::string& path) const { return published_.contains(path); }
  Json published_;
  Trainer::Config config_;
};

TEST_P(AxlearnRecipes, Numbers) {
  EXPECT_EQ(double(*config_.max_steps), number("max_step"));
  EXPECT_EQ(double(config_.checkpointer.every_steps), number("save_policy.n"));
  EXPECT_EQ(double(*config_.checkpointer.keep_every_steps), number("keep_every_n_steps"));
  EXPECT_EQ(double(*config_.evalers.at("held_out").every_steps), number("eval_policy.n"));
  EXPECT_EQ(double(*config_.input.get_if<TextInput>()->batch_size),
            number("input_dispatcher.global_logical_batch_size"));
  const std::string z_loss = "model.metrics.metrics['lm'].z_loss_scale";
  EXPECT_EQ(double(config_.model.get_if<CausalLM>()->z_loss_scale),
            has(z_loss) ? number(z_loss) : 0);
  EXPECT_EQ(config_.on_non_finite == OnNonFinite::kSkip,
            published_.at("learner.ignore_undefined_loss") == "True");
  ASSERT_EQ(config_.mesh.axes.size(), 6u);
  std::vector<double> sizes;
  for (size_t i = 0; i < 6; ++i) {
    const std::string at = fmt::format("[{}]", i);
    EXPECT_EQ(config_.mesh.axes[i].name, published_.at("mesh_axis_names" + at).get<std::string>());
    sizes.push_back(number("mesh_shape" + at));
  }
  // Two of the sizes for tests are published for one device.
  if (std::ranges::count(sizes, 1) == 6) sizes[1] = -1;
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(double(config_.mesh.axes[i].size), sizes[i]);
}

// One parameter of each linear layer and others, with the gradient kGradient everywhere.
constexpr float kWeight = 0.5f, kGradient = 1e-4f;
HostTree filled(const Tree<ParamSpec>& specs, float value) {
  HostTree out;
  for (const auto& [path, spec] : specs)
    out.emplace(path, HostTensor({2, 2}, {value, value, value, value}));
  return out;
}

bool is_linear(const std::string& path) {
  if (!path.ends_with("weight")) return false;
  for (const char* part : {"/body/qkv/", "/attention/body/output/", "/feed_forward/body/gate/",
                           "/feed_forward/body/up/", "/feed_forward/body/down/"}) {
    if (path.find(part) != std::string::npos) return true;
  }
  return false;
}

// A step at the end of the warm-up, where the schedule is 1. Means have seen zeros before.
TEST_P(AxlearnRecipes, UpdateMatchesThePublishedOne) {
  const auto warmup = static_cast<int32_t>(number("update_schedule.warmup_steps"));
  const HostTree params = filled(config_.model.build({}, Scope{})->param_specs(), kWeight),
                 gradients = filled(specs_of(params), kGradient);
  const Tree<ParamSpec> specs = specs_of(params);
  const Learner learner(*config_.learner.get_if<Learner>(), {specs, int64_t{*config_.max_steps}},
                        {.path = "learner"});
  HostTree state = run_trees([&](const auto& in) { return learner.initialize(in[0]); }, {params});
  for (const char* count : {"count", "optimizer/count"}) {
    const auto at = state.find(count);
    if (at != state.end()) at->second = HostTensor::scalar(warmup - 1);
  }
  const HostTree next = run_trees(
      [&](const std::vector<Tree<Tensor>>& in) {
        return learner.apply({in[0], in[1], in[2]}).params;
      },
      {params, gradients, state});

  // AdaStar clips its first direction to 1 and takes it into a mean of zeros.
  const bool adastar = has("learner.optimizer.inner.eps_square");
  const double direction = adastar
                               ? 1 - number("inner.update_ema_decay")
                               : (1 - number("args[1].b1")) / std::sqrt(1 - number("args[1].b2"));
  const double rate = number(".learning_rate"), decay = number(".weight_decay") * kWeight;
  int num_linear = 0;
  for (const auto& [path, value] : next) {
    num_linear += is_linear(path);
    const double factor = is_linear(path) ? number("scale_by_path[0][1]") : 1;
    const double expected = rate * factor * direction + decay;
    EXPECT_NEAR(kWeight - value.at(0), expected, 1e-3 * expected) << path;
  }
  EXPECT_GE(num_linear, 5);
}

INSTANTIATE_TEST_SUITE_P(All, AxlearnRecipes,
                         ::testing::Values("gala-test", "gala-85M", "gala-302M", "gala-1B",
                                           "gala-7B", "gala-7B-hybridnorm-alibi",
                                           "gala-sigmoid-85M-4k-hybridnorm-alibi",
                                           "gala-sigmoid-7B-4k-hybridnorm-alibi", "honeycrisp-test",
                                           "honeycrisp-85M", "honeycrisp-3B", "envy-test",
                                           "envy-Switch-Large", "envy-Switch-XXL", "qwen3-30B-A3B"),
                         kNamedByText);

TEST(GspmdRecipe, HasThePublishedOptimizer) {
  const Trainer::Config config = recipe("gspmd-16B");
  const Json published = published_config("gspmd-16B");
  const auto number = [&](const std::string& name) {
    return std::stod(published.at("learner.optimizer." + name).get<std::string>());
  };
  const auto* ours = config.learner.get_if<Learner>()->optimizer.get_if<Adafactor>();
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->eps, number("eps"));
  EXPECT_EQ(*ours->max_rms, number("clipping_threshold"));
  EXPECT_EQ(ours->weight_decay, number("weight_decay"));
  EXPECT_EQ(ours->step_size, StepSize::kAbsolute);
  EXPECT_EQ(ours->b1->functor().get_if<ConstantRate>()->value, number("b1"));
  EXPECT_EQ(ours->b2.functor().get_if<AdafactorDecay>()->exponent, number("b2.c"));
  const auto* rate = ours->learning_rate.functor().get_if<InverseSqrt>();
  ASSERT_TRUE(rate);
  EXPECT_EQ(rate->scale, number("learning_rate.scale"));
  EXPECT_EQ(double(rate->warmup_steps), number("learning_rate.warmup_steps"));
  EXPECT_EQ(rate->exponent, -number("learning_rate.decay_power"));
  EXPECT_TRUE(config.learner.get_if<Learner>()->transforms.empty());
}

TEST(GspmdRecipe, HasThePublishedPipelineAndMesh) {
  const Trainer::Config config = recipe("gspmd-16B");
  const Json published = published_config("gspmd-16B");
  const auto number = [&](const std::string& name) {
    return std::stoll(published.at(name).get<std::string>());
  };
  const auto* layers =
      config.model.get_if<CausalLM>()->decoder.get_if<Decoder>()->layers.get_if<Pipeline>();
  ASSERT_TRUE(layers);
  EXPECT_EQ(layers->num_layers, number("model.decoder.transformer.num_layers"));
  EXPECT_EQ(layers->num_microbatches, number("model.decoder.transformer.num_microbatches"));
  EXPECT_EQ(config.mesh.size("pipeline"), number("model.decoder.transformer.num_stages"));
  EXPECT_EQ(config.max_steps, number("max_step"));
  ASSERT_EQ(config.mesh.axes.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    const MeshAxis& axis = config.mesh.axes[i];
    const auto size_at = [&](const char* shape) {
      return number(fmt::format("mesh_shape['{}'][{}]", shape, i));
    };
    const int64_t across = size_at("dcn_mesh_shape"), within = size_at("ici_mesh_shape");
    EXPECT_EQ(axis.name, published.at(fmt::format("mesh_axis_names[{}]", i)).get<std::string>());
    EXPECT_EQ(axis.size, across == -1 ? -1 : across * within) << axis.name;
    if (across != -1) {
      EXPECT_EQ(axis.across, across) << axis.name;
    }
  }
}

}  // namespace
}  // namespace axle
