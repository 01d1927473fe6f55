// A mixture of experts instead of every feed-forward layer of a recipe, by one line.
#include <gmock/gmock.h>

#include "config/print.h"
#include "config/replace.h"
#include "layers/experts/moe.h"
#include "layers/feed_forward/feed_forward.h"
#include "pjrt/pjrt_runtime.h"
#include "recipes/resolve/resolve.h"
#include "recipes/resolve/use_data.h"
#include "testing/error_of.h"
#include "train/config/run_modules.h"
#include "train/step_run_test.h"

namespace axle {
namespace {

constexpr const char* kBody = "model.decoder.layers.layer.feed_forward.body";

Resolved resolved(const std::string& changes) {
  return resolve_config({.recipe = "fuji-test-v1",
                         .files = {parse_recipe_file(changes, "moe.yaml")},
                         .edits = {UseData{kSyntheticData}, SetField{"input.batch_size", "4"}},
                         .machine = "cpu-16"});
}
Resolved with_experts(const std::string& fields) {
  return resolved("replace: {FeedForward: {with: MoE, set: {" + fields + "}}}\n");
}

TEST(ExpertsInARecipe, KeepTheFieldsOfTheFeedForward) {
  Trainer::Config config = resolved("set: {}\n").config;
  const RewriteReport report = replace_config<FeedForward>(config, MoE::Config{.num_experts = 4});
  EXPECT_EQ(report.matched, std::vector<std::string>{kBody});
  for (const char* field : {"hidden_dim", "activation", "gate", "up", "down"})
    EXPECT_THAT(report.carried, ::testing::Contains(std::string(kBody) + "." + field));
  EXPECT_THAT(report.dropped, ::testing::IsEmpty());
  EXPECT_EQ(diff(with_experts("num_experts: 4").config, config), "");
}

// Takes two training steps and returns their metrics.
std::vector<Tree<double>> train_two_steps(const Trainer::Config& config) {
  const std::unique_ptr<Runtime> runtime = make_runtime({.backend = "interpreter"});
  const RunModules training(config);
  const auto input = training.make_input();
  Child<Learner> learner = config.learner;
  learner.get_if<Learner>()->optimizer.get_if<AdamW>()->learning_rate = ConstantRate{.value = 1e-3};
  StepRun run(*runtime, {.model = config.model,
                         .learner = learner,
                         .batch = input->element_spec(),
                         .layer_summaries = true});
  run.set_state(run.initial_state(1));
  return {run.step(input->next()->tensors), run.step(input->next()->tensors)};
}

TEST(ExpertsInARecipe, Train) {
  for (const char* dispatch : {"SortedDispatch", "{class: CapacityDispatch, num_groups: 2}"}) {
    for (const char* router :
         {"TopKRouter", "{class: BalancedRouter, top_k: 2, num_expert_groups: 2}"}) {
      SCOPED_TRACE(std::string(dispatch) + " " + router);
      const Resolved with = with_experts(std::string("num_experts: 4, dispatch: ") + dispatch +
                                         ", router: " + router);
      const auto steps = train_two_steps(with.config);
      for (const Tree<double>& step : steps) {
        EXPECT_EQ(step.at("skipped"), 0);
        EXPECT_GT(step.at("aux_loss"), 0);
        EXPECT_NEAR(step.at("loss"), step.at("cross_entropy") + step.at("aux_loss"), 1e-5);
      }
    }
  }
}

TEST(ExpertsInARecipe, NumberOfExpertsMustFitTheMesh) {
  const auto text = [](int64_t num_experts) {
    const Trainer::Config config =
        with_experts("num_experts: " + std::to_string(num_experts)).config;
    const RunModules training(config);
    const ProgramSpec parts = training.program_spec({.axes = {{.name = "expert", .size = 4}}},
                                                    training.make_input()->element_spec());
    return step_program(parts).text;
  };
  EXPECT_NE(text(8).find("\"expert\""), std::string::npos);
  // All weights of the experts are named, not the router's, which every device holds whole.
  const std::string error = error_of([&] { text(6); });
  for (const char* weight :
       {"gate/weight [4, 6, 8, 32]", "up/weight [4, 6, 8, 32]", "down/weight [4, 6, 32, 8]"}) {
    EXPECT_THAT(error, ::testing::HasSubstr(
                           std::string("model/decoder/layers/layer/feed_forward/body/") + weight +
                           ": dim 1, num_experts, must be divisible by its mesh axes, got 6 over "
                           "expert=4 = 4 parts; it divides into 1, 2, 3"));
  }
  EXPECT_THAT(error, ::testing::Not(::testing::HasSubstr("router")));
}

}  // namespace
}  // namespace axle
