#include "learn/optimizer_groups.h"

#include <gmock/gmock.h>

#include "learn/learner.h"
#include "learn/optimizer.h"
#include "learn/optimizers/adam.h"
#include "learn/optimizers/optimizer_run_test.h"
#include "learn/optimizers/sgd.h"
#include "learn/schedule.h"
#include "learn/transforms/gradient_transforms.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Child<Optimizer> sgd(double rate) {
  return Sgd::Config{.learning_rate = ConstantRate{.value = rate}};
}
const HostTree kParams = {{"a/scale", HostTensor({2}, {1.0f, 2.0f})},
                          {"a/weight", HostTensor({1}, {3.0f})},
                          {"b/weight", HostTensor({1}, {4.0f})}};
const HostTree kOnes = {{"a/scale", HostTensor({2}, {1.0f, 1.0f})},
                        {"a/weight", HostTensor({1}, {1.0f})},
                        {"b/weight", HostTensor({1}, {1.0f})}};

std::string refusal(const OptimizerGroups::Config& config) {
  return error_of<ConfigError>([&] { OptimizerRun(config, kParams); });
}

TEST(OptimizerGroups, EachGroupHasItsOwnOptimizer) {
  OptimizerRun run(OptimizerGroups::Config{.groups = {{"scales", {{"**.scale"}, sgd(1)}},
                                                      {"b", {{"b.*"}, sgd(2)}}},
                                           .others = sgd(3)},
                   kParams);
  run.step(kOnes);
  EXPECT_EQ(run.params.at("a/scale"), HostTensor({2}, {0.0f, 1.0f}));
  EXPECT_EQ(run.params.at("a/weight"), HostTensor({1}, {0.0f}));
  EXPECT_EQ(run.params.at("b/weight"), HostTensor({1}, {2.0f}));
  EXPECT_EQ(run.metric("learning_rate"), 3);
  EXPECT_EQ(run.metric("learning_rate/b"), 2);
  EXPECT_EQ(run.metric("learning_rate/scales"), 1);
}

TEST(OptimizerGroups, StateIsStoredUnderTheGroup) {
  const AdamW::Config adamw{.learning_rate = ConstantRate{.value = 1}};
  OptimizerRun run(
      OptimizerGroups::Config{.groups = {{"scales", {{"**.scale"}, adamw}}}, .others = sgd(1)},
      kParams);
  std::vector<std::string> names;
  for (const auto& [path, value] : run.state) names.push_back(path);
  EXPECT_THAT(names, ElementsAre("groups/scales/m/a/scale", "groups/scales/v/a/scale"));
}

TEST(OptimizerGroups, MistakesNameTheGroup) {
  EXPECT_EQ(refusal({.groups = {{"none", {{}, sgd(1)}}}, .others = sgd(1)}),
            "optimizer.groups.none.params: expected at least one pattern, got none");
  EXPECT_EQ(refusal({.groups = {{"c", {{"c.*"}, sgd(1)}}}, .others = sgd(1)}),
            "optimizer.groups.c.params: 'c.*' matches no parameter");
  EXPECT_EQ(refusal({.groups = {{"a", {{"a.*"}, sgd(1)}}, {"s", {{"**.scale"}, sgd(1)}}}}),
            "optimizer.groups.s.params: expected parameters of no other group, got a/scale of a");
  EXPECT_EQ(refusal({.groups = {{"a", {{"a.*"}, sgd(1)}}}}),
            "optimizer.others: expected an optimizer for parameters of no group, got none; "
            "b/weight is one");
  EXPECT_THAT(
      refusal({.groups = {{"a",
                           {{"**"},
                            AdamW::Config{.learning_rate = ConstantRate{.value = 1}, .b1 = 1}}}}}),
      HasSubstr("optimizer.groups.a.optimizer.b1: expected "));
}

TEST(Learner, FrozenParametersStayAndHaveNoState) {
  const Tree<ParamSpec> specs = specs_of(kParams);
  const Learner learner(
      {.optimizer = AdamW::Config{.learning_rate = ConstantRate{.value = 1}}, .frozen = {"a.*"}},
      {specs}, {.path = "learner"});
  ASSERT_EQ(learner.trained().size(), 1u);
  EXPECT_EQ(learner.state_specs().size(), 3u);  // count, m and v of b/weight
  const HostTree done = run_trees(
      [&](const std::vector<Tree<Tensor>>& in) {
        LearnerOutputs out = learner.apply(
            {.params = in[0], .gradients = in[1], .state = learner.initialize(in[0])});
        out.params.emplace("grad_norm", out.metrics.at("grad_norm"));
        return out.params;
      },
      {kParams, kOnes});
  EXPECT_EQ(done.at("a/scale"), kParams.at("a/scale"));
  EXPECT_EQ(done.at("a/weight"), kParams.at("a/weight"));
  EXPECT_NEAR(done.at("b/weight").at(0), 3, 1e-6);
  EXPECT_EQ(done.at("grad_norm").at(0), 1);  // that of b/weight alone

  const auto build = [&](std::vector<std::string> frozen) {
    return error_of<ConfigError>([&] {
      Learner({.optimizer = sgd(1), .frozen = std::move(frozen)}, {specs}, {.path = "learner"});
    });
  };
  EXPECT_EQ(build({"c"}), "learner.frozen: 'c' matches no parameter");
  EXPECT_EQ(build({"**"}),
            "learner.frozen: expected parameters that are left to train, got patterns that match "
            "all 3");
}

TEST(Learner, ScalesUpdatesByPath) {
  const Tree<ParamSpec> specs = specs_of(kParams);
  const Learner learner({.optimizer = AdamW::Config{.learning_rate = ConstantRate{.value = 1}},
                         .update_transforms = {ScaleByPath::Config{.scales = {{"b.*", 0.25}}}}},
                        {specs}, {.path = "learner"});
  const HostTree done = run_trees(
      [&](const std::vector<Tree<Tensor>>& in) {
        return learner
            .apply({.params = in[0], .gradients = in[1], .state = learner.initialize(in[0])})
            .params;
      },
      {kParams, kOnes});
  EXPECT_NEAR(done.at("a/weight").at(0), 2, 1e-6);
  EXPECT_NEAR(done.at("b/weight").at(0), 3.75, 1e-6);
  EXPECT_EQ(error_of<ConfigError>([&] {
              Learner({.optimizer = sgd(1),
                       .update_transforms = {ScaleByPath::Config{.scales = {{"c", 1}}}}},
                      {specs}, {.path = "learner"});
            }),
            "learner.update_transforms[0].scales: 'c' matches no parameter");
}

}  // namespace
}  // namespace axle
