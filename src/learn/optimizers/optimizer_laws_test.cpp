// Laws that hold for every optimizer: it finds the minimum of a quadratic, keeps its state as
// declared, continues from saved state, and treats stacked layers as it treats each of them.

#include <gmock/gmock.h>

#include "config/registry.h"
#include "learn/optimizer.h"
#include "learn/optimizer_groups.h"
#include "learn/optimizers/adafactor.h"
#include "learn/optimizers/adam.h"
#include "learn/optimizers/matrix_optimizers.h"
#include "learn/optimizers/optimizer_run_test.h"
#include "learn/optimizers/sgd.h"
#include "learn/optimizers/sophia.h"
#include "learn/optimizers/wrapping_optimizers.h"
#include "learn/schedule.h"
#include "learn/schedules/schedules.h"
#include "testing/host_tensors.h"
#include "testing/test_name.h"

namespace axle {
namespace {

// A rate that ends at 0, so that optimizers whose steps do not shrink end at the minimum too.
Schedule falling(double peak, int64_t steps) {
  return Polynomial{.begin_value = peak, .end_step = steps, .end_value = 0};
}

constexpr int kSteps = 400;
const Schedule kOne = ConstantRate{};

struct Case {
  std::string name;
  Child<Optimizer> config;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<Case> cases() {
  const auto rate = [](double peak) { return falling(peak, kSteps); };
  const auto adamw = [&](double peak) { return AdamW::Config{.learning_rate = rate(peak)}; };
  return {
      {"Sgd", Sgd::Config{.learning_rate = rate(0.3), .momentum = 0.5}},
      {"Adam", Adam::Config{.learning_rate = rate(0.1)}},
      {"AdamW", adamw(0.1)},
      {"Adafactor", Adafactor::Config{.learning_rate = rate(0.1)}},
      {"AdafactorRelative", Adafactor::Config{.learning_rate = rate(0.1),
                                              .b1 = ConstantRate{.value = 0.5},
                                              .step_size = StepSize::kRelative}},
      {"AdaStar", AdaStar::Config{.learning_rate = rate(0.1), .max_rms = 1}},
      {"Lion", Lion::Config{.learning_rate = rate(0.05)}},
      {"Lamb", Lamb::Config{.learning_rate = rate(0.1)}},
      {"Muon", Muon::Config{.learning_rate = rate(0.2), .others = adamw(0.1)}},
      {"Soap", Soap::Config{.learning_rate = rate(0.1), .every_steps = 3, .others = adamw(0.1)}},
      {"SophiaGaussNewton",
       Sophia::Config{.learning_rate = rate(0.1), .b1 = 0.9, .gamma = 1, .every_steps = 3}},
      {"SophiaHutchinson", Sophia::Config{.learning_rate = rate(0.1),
                                          .b1 = 0.9,
                                          .gamma = 1,
                                          .every_steps = 3,
                                          .curvature = Curvature::kHutchinson}},
      {"ScheduleFree",
       ScheduleFree::Config{
           .inner = AdamW::Config{.learning_rate = ConstantRate{.value = 0.1}, .b1 = 0}}},
      {"SkipAndClip",
       SkipAndClip::Config{.inner = adamw(0.1), .drop_norm = TimesMeanNorm{}, .max_norm = 1}},
      {"OptimizerGroups",
       OptimizerGroups::Config{
           .groups = {{"vectors", {.params = {"b"}, .optimizer = adamw(0.1)}}},
           .others = Muon::Config{.learning_rate = rate(0.2), .others = adamw(0.1)}}},
  };
}

// Two layers of three heads, a matrix and a vector, each with a minimum that is not 0.
HostTree initial() {
  return {{"b", wave({4}, 0)}, {"s", wave({2, 5, 3, 4}, 10)}, {"w", wave({6, 3}, 200)}};
}
Tree<ParamSpec> specs() {
  Tree<ParamSpec> out = specs_of(initial());
  out.at("s").fan = {.in = {-3}, .out = {-2, -1}, .batch = {-4}};
  return out;
}
HostTree curvatures() {
  HostTree out = initial();
  double phase = 0.5;
  for (auto& [path, t] : out) {
    t = wave(t.shape(), phase += 1);
    for (float& x : t.values<float>()) x = 1 + x * x / 3;  // 1 to 1.75
  }
  return out;
}
HostTree targets() {
  return {{"b", wave({4}, 0.3)}, {"s", wave({2, 5, 3, 4}, 7.1)}, {"w", wave({6, 3}, 31.7)}};
}

class OptimizerLaws : public ::testing::TestWithParam<Case> {};

TEST_P(OptimizerLaws, FindsTheMinimumOfAQuadratic) {
  const Quadratic objective(curvatures(), targets());
  OptimizerRun run(GetParam().config, initial(), specs());
  for (int i = 0; i < kSteps; ++i) run.step(objective);
  for (const auto& [path, target] : targets())
    EXPECT_LT(testing::relative_difference(run.params.at(path), target), 0.02) << path;
}

TEST_P(OptimizerLaws, KeepsTheStateThatItDeclares) {
  const Quadratic objective(curvatures(), targets());
  OptimizerRun run(GetParam().config, initial(), specs());
  const Tree<ParamSpec> declared = run.optimizer().state_specs();
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(run.state.size(), declared.size());
    for (const auto& [path, spec] : declared) {
      EXPECT_EQ(run.state.at(path).type(), spec.type()) << path;
      EXPECT_LE(spec.mesh_axes.size(), spec.shape.size()) << path;
    }
    run.step(objective);
    EXPECT_TRUE(run.metrics.contains("learning_rate"));
  }
}

TEST_P(OptimizerLaws, ContinuesFromSavedState) {
  const Quadratic objective(curvatures(), targets());
  OptimizerRun whole(GetParam().config, initial(), specs());
  for (int i = 0; i < 7; ++i) whole.step(objective);
  OptimizerRun first(GetParam().config, initial(), specs());
  for (int i = 0; i < 4; ++i) first.step(objective);
  OptimizerRun second(GetParam().config, first.params, specs());
  second.restore(first.state, 4);
  for (int i = 0; i < 3; ++i) second.step(objective);
  EXPECT_EQ(second.params, whole.params);
  EXPECT_EQ(second.state, whole.state);
}

// Returns the first update of each parameter.
HostTree first_update(const Child<Optimizer>& config, const HostTree& params,
                      const HostTree& gradients) {
  OptimizerRun run(config, params, specs());
  run.step(gradients);
  HostTree out = run.params;
  for (auto& [path, update] : out) {
    const auto before = params.at(path).values<float>();
    for (size_t i = 0; i < before.size(); ++i) update.values<float>()[i] -= before[i];
  }
  return out;
}
HostTree times(HostTree tree, float factor) {
  for (auto& [path, t] : tree) {
    for (float& x : t.values<float>()) x *= factor;
  }
  return tree;
}

TEST_P(OptimizerLaws, UpdatesHaveTheStatedSize) {
  constexpr float kTimes = 8;
  const Child<Optimizer>& config = GetParam().config;
  const HostTree params = initial(), gradients = targets();
  const Tree<UpdateSize> sizes = OptimizerRun(config, params, specs()).optimizer().update_sizes();
  // The updates depend on the curvature, or have a part that moves besides.
  if (GetParam().name.starts_with("Sophia") || GetParam().name == "ScheduleFree") {
    EXPECT_EQ(sizes.size(), 0u);
    return;
  }
  EXPECT_EQ(sizes.size(), params.size());
  const HostTree update = first_update(config, params, gradients);
  const HostTree of_larger = first_update(config, params, times(gradients, kTimes));
  const HostTree at_larger = first_update(config, times(params, kTimes), gradients);
  for (const auto& [path, size] : sizes) {
    const bool is_gradient = size.kind == UpdateKind::kGradient;
    const bool is_parameter = size.kind == UpdateKind::kParameter;
    const auto expect_times = [&](const HostTree& changed, bool is_times) {
      const HostTree expected = times({{path, update.at(path)}}, is_times ? kTimes : 1.0f);
      EXPECT_LT(testing::relative_difference(changed.at(path), expected.at(path)), 1e-3) << path;
    };
    expect_times(of_larger, is_gradient);
    expect_times(at_larger, is_parameter);
  }
}

// Returns layer i of a stack.
HostTensor layer(const HostTensor& stack, int64_t i) {
  Shape shape(stack.shape().begin() + 1, stack.shape().end());
  HostTensor out(Type{stack.dtype(), shape});
  const auto from = stack.values<float>();
  std::copy_n(from.begin() + i * out.size(), out.size(), out.values<float>().begin());
  return out;
}

// Global norms and random directions see all parameters: the optimizers with these are left out.
std::vector<Case> cases_by_layer() {
  std::vector<Case> out = cases();
  std::erase_if(
      out, [](const Case& c) { return c.name == "SkipAndClip" || c.name == "SophiaHutchinson"; });
  return out;
}

class StackedLaws : public ::testing::TestWithParam<Case> {};

TEST_P(StackedLaws, StackedLayersEqualSingleLayers) {
  OptimizerRun all(GetParam().config, initial(), specs());
  const HostTree curvature = curvatures(), target = targets();
  for (int i = 0; i < 8; ++i) all.step(Quadratic(curvature, target));
  for (const int64_t i : {0, 1}) {
    const auto alone = [&](const HostTree& tree) {
      HostTree out = tree;
      out.at("s") = layer(tree.at("s"), i);
      return out;
    };
    Tree<ParamSpec> its_specs = specs();
    its_specs.at("s").shape.erase(its_specs.at("s").shape.begin());
    its_specs.at("s").fan.batch.clear();
    OptimizerRun one(GetParam().config, alone(initial()), its_specs);
    for (int step = 0; step < 8; ++step) one.step(Quadratic(alone(curvature), alone(target)));
    EXPECT_LT(testing::relative_difference(one.params.at("s"), layer(all.params.at("s"), i)), 1e-5)
        << "layer " << i;
  }
}

std::string name_of(const ::testing::TestParamInfo<Case>& a_case) { return a_case.param.name; }
INSTANTIATE_TEST_SUITE_P(All, OptimizerLaws, ::testing::ValuesIn(cases()), name_of);
INSTANTIATE_TEST_SUITE_P(All, StackedLaws, ::testing::ValuesIn(cases_by_layer()), name_of);

// The matrix w[6, 3] becomes nearly orthogonal, times its gain: its norm is that of 3 singular
// values.
TEST(Muon, StatesTheSingularValuesOfItsUpdates) {
  for (const MuonScale scale : {MuonScale::kAdam, MuonScale::kSpectral}) {
    const Child<Optimizer> config = Muon::Config{.learning_rate = ConstantRate{.value = 0.5},
                                                 .scale = scale,
                                                 .exclude = {},
                                                 .others = Sgd::Config{.learning_rate = kOne}};
    const Tree<UpdateSize> sizes =
        OptimizerRun(config, initial(), specs()).optimizer().update_sizes();
    EXPECT_EQ(sizes.at("b").kind, UpdateKind::kGradient) << "that of others";
    ASSERT_EQ(sizes.at("w").kind, UpdateKind::kSpectral);
    double squares = 0;
    for (const double x : doubles(first_update(config, initial(), targets()).at("w")))
      squares += x * x;
    const double mean = std::sqrt(squares / 3) / 0.5;
    EXPECT_GT(mean, 0.7 * sizes.at("w").gain);
    EXPECT_LT(mean, 1.2 * sizes.at("w").gain);
  }
}

// Clipped gradients are no longer in proportion to what they were.
TEST(SkipAndClip, UpdateSizesAreUnknownForClippedGradients) {
  const auto sizes = [](const SkipAndClip::Config& config) {
    return OptimizerRun(config, initial(), specs()).optimizer().update_sizes();
  };
  const Child<Optimizer> sgd = Sgd::Config{.learning_rate = kOne};
  EXPECT_EQ(sizes({.inner = sgd}).size(), 0u);
  EXPECT_EQ(sizes({.inner = sgd, .max_norm = {}}).size(), 3u);
  EXPECT_EQ(sizes({.inner = Lion::Config{.learning_rate = kOne}}).size(), 3u);
}

TEST(OptimizerLaws, AreCheckedForEveryOptimizer) {
  std::set<std::string_view> checked;
  for (const Case& c : cases()) checked.insert(c.config.any().type().name);
  for (const std::string& name : names_of(typeid(Optimizer)))
    EXPECT_TRUE(checked.contains(name)) << name;
}

}  // namespace
}  // namespace axle
