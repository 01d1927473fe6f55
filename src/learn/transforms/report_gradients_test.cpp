#include <gtest/gtest.h>

#include "learn/learner.h"
#include "learn/optimizers/sgd.h"
#include "learn/test_program_test.h"
#include "learn/transforms/gradient_transforms.h"
#include "testing/error_of.h"

namespace axle {
namespace {

// A parameter of two layers, and one alone.
Tree<ParamSpec> specs() {
  return {{"layer/weight", {.shape = {2, 1, 2}, .fan = {.batch = {0}}, .dtype = DType::kF32}},
          {"scale", {.shape = {2}, .dtype = DType::kF32}}};
}
HostTree params() {
  return {{"layer/weight", HostTensor({2, 1, 2}, {3.0f, 4.0f, 0.0f, 0.0f})},
          {"scale", HostTensor({2}, {0.0f, 10.0f})}};
}
HostTree gradients() {
  return {{"layer/weight", HostTensor({2, 1, 2}, {1.0f, 0.0f, 6.0f, -8.0f})},
          {"scale", HostTensor({2}, {0.0f, 2.0f})}};
}

// Returns the new parameters and the metrics of one step of SGD with rate 0.5.
HostTree step(const Learner::Config& config) {
  const Tree<ParamSpec> all = specs();
  const Learner learner(config, {all}, {.path = "learner"});
  const HostTree state =
      run_trees([&](const auto& in) { return learner.initialize(in[0]); }, {params()});
  return run_trees(
      [&](const std::vector<Tree<Tensor>>& in) {
        LearnerOutputs done = learner.apply({in[0], in[1], in[2]});
        Tree<Tensor> out = std::move(done.metrics);
        put_subtree(out, "params", done.params);
        return out;
      },
      {params(), gradients(), state});
}
Learner::Config sgd() {
  return {.optimizer = Sgd::Config{.learning_rate = ConstantRate{.value = 0.5}}};
}

TEST(ReportGradients, ReportsNumbersOfParametersAndLayers) {
  Learner::Config config = sgd();
  config.transforms = {ReportGradients::Config{}};
  const HostTree plain = step(sgd()), out = step(config);
  for (const char* path : {"params/layer/weight", "params/scale"})
    EXPECT_EQ(out.at(path), plain.at(path)) << path;
  EXPECT_EQ(out.size(), plain.size() + 8);
  const auto expect = [&](const std::string& name, const HostTensor& value) {
    EXPECT_EQ(out.at("gradient/" + name), value) << name;
  };
  expect("layer/weight/norm", HostTensor({2}, {1.0f, 10.0f}));
  expect("layer/weight/rms", HostTensor({2}, {std::sqrt(0.5f), std::sqrt(50.0f)}));
  expect("layer/weight/max_abs", HostTensor({2}, {1.0f, 8.0f}));
  expect("layer/weight/weight_ratio", HostTensor({2}, {0.2f, 0.0f}));
  expect("scale/norm", HostTensor::scalar(2.0f));
  expect("scale/weight_ratio", HostTensor::scalar(0.2f));
}

TEST(ReportGradients, GroupIsReportedAsOneVector) {
  Learner::Config config = sgd();
  config.update_transforms = {
      ReportGradients::Config{.name = "update", .groups = {{"all", {"layer.*", "scale"}}}}};
  const HostTree out = step(config);
  // Half of the gradients: 0.5, 3, 4, 1; the parameters: 3, 4, 10.
  const float norm = std::sqrt(26.25f);
  EXPECT_FLOAT_EQ(out.at("update/all/norm").at(0), norm);
  EXPECT_FLOAT_EQ(out.at("update/all/rms").at(0), norm / std::sqrt(6.0f));
  EXPECT_FLOAT_EQ(out.at("update/all/max_abs").at(0), 4);
  EXPECT_FLOAT_EQ(out.at("update/all/weight_ratio").at(0), norm / std::sqrt(125.0f));
  EXPECT_FALSE(out.contains("update/scale/norm"));
}

TEST(ReportGradients, FrozenParametersBelongToNoGroup) {
  Learner::Config config = sgd();
  config.frozen = {"scale"};
  config.transforms = {ReportGradients::Config{.groups = {{"scales", {"scale"}}}}};
  EXPECT_EQ(error_of([&] { step(config); }),
            "learner.transforms[0].groups['scales']: 'scale' matches no parameter");
}

}  // namespace
}  // namespace axle
