#include "learn/learner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>

#include "base/error.h"
#include "config/missing.h"
#include "learn/optimizers/sgd.h"
#include "learn/schedules/schedules.h"
#include "learn/test_program_test.h"
#include "learn/transforms/gradient_transforms.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

HostTree example_params() {
  return {{"a/weight", HostTensor({2, 2}, {1.0f, -2.0f, 3.0f, 4.0f})},
          {"b", HostTensor({3}, {0.5f, 0.25f, -1.0f})}};
}
HostTree example_gradients() {
  return {{"a/weight", HostTensor({2, 2}, {3.0f, 0.0f, 0.0f, -4.0f})},
          {"b", HostTensor({3}, {0.0f, 12.0f, 0.0f})}};  // norm 13
}

Learner::Config adamw_with_everything() {
  return {
      .optimizer = AdamW::Config{.learning_rate = ConstantRate{.value = 0.1}, .weight_decay = 0.01},
      .transforms = {ClipByGlobalNorm::Config{.max_norm = 2}},
      .ema = ParamEma{.decay = ConstantRate{.value = 0.75}},
      .norms = NormMetrics::kAll};
}
Learner::Config plain_sgd(double rate) {
  return {.optimizer = Sgd::Config{.learning_rate = ConstantRate{.value = rate}}};
}

struct Training {
  Training(const Learner::Config& config, HostTree initial)
      : specs(specs_of(initial)), learner(config, {specs}, {.path = "learner"}), params(initial) {
    state = run_trees([&](const auto& in) { return learner.initialize(in[0]); }, {params});
  }
  void step(const HostTree& gradients) {
    const HostTree out = run_trees(
        [&](const std::vector<Tree<Tensor>>& in) {
          LearnerOutputs done = learner.apply({in[0], in[1], in[2]});
          Tree<Tensor> all;
          put_subtree(all, "params", done.params);
          put_subtree(all, "state", done.state);
          put_subtree(all, "metrics", done.metrics);
          return all;
        },
        {params, gradients, state});
    params = subtree(out, "params");
    state = subtree(out, "state");
    metrics = subtree(out, "metrics");
  }
  double metric(std::string_view name) const { return metrics.find(name)->second.at(0); }

  Tree<ParamSpec> specs;
  Learner learner;
  HostTree params, state, metrics;
};

TEST(Learner, BatchIsDividedIntoTheFewestParts) {
  const auto parts = [](int64_t rows, int64_t num_shares, int64_t device_rows) {
    return fewest_microbatches(rows, num_shares, device_rows);
  };
  EXPECT_EQ(parts(32, 1, 32), 1);
  EXPECT_EQ(parts(32, 1, 4), 8);
  EXPECT_EQ(parts(32, 8, 4), 1);
  EXPECT_EQ(parts(32, 8, 1), 4);
  EXPECT_EQ(parts(30, 1, 4), 10) << "7.5 rows are none";
  // The rows of a part are a multiple of the devices: 12 in 5 parts, not 15 in 4.
  EXPECT_EQ(parts(60, 4, 4), 5);
  // No number of parts gives each of 8 devices the same number of rows.
  EXPECT_EQ(parts(12, 8, 1), 2);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(parts(32, 2, kMost), 1);
  EXPECT_EQ(parts(kMost, 2, kMost), 1);
}

TEST(Learner, EvaluatedPartsDependOnlyOnRowsOfADevice) {
  Learner::Config cfg = plain_sgd(1);
  cfg.device_rows = 4;
  const Tree<ParamSpec> params = {{"a", {.shape = {2}}}};
  const Learner by_rows(cfg, {.params = params}, Scope{});
  EXPECT_EQ(by_rows.microbatches(32, 2), 4);
  EXPECT_EQ(by_rows.evaluated_microbatches(32, 2), 4);
  cfg.microbatches = 16;
  const Learner by_parts(cfg, {.params = params}, Scope{});
  EXPECT_EQ(by_parts.microbatches(32, 2), 16);
  EXPECT_EQ(by_parts.evaluated_microbatches(32, 2), 4);
  cfg.device_rows = {};
  EXPECT_EQ(Learner(cfg, {.params = params}, Scope{}).evaluated_microbatches(32, 2), 1);
}

TEST(Learner, AddsTheUpdatesOfTheOptimizer) {
  Training run(plain_sgd(0.5), example_params());
  run.step(example_gradients());
  EXPECT_EQ(run.params.at("a/weight"), HostTensor({2, 2}, {-0.5f, -2.0f, 3.0f, 6.0f}));
  EXPECT_EQ(run.params.at("b"), HostTensor({3}, {0.5f, -5.75f, -1.0f}));
  EXPECT_FLOAT_EQ(run.metric("grad_norm"), 13);
  EXPECT_FLOAT_EQ(run.metric("learning_rate"), 0.5);
  EXPECT_EQ(run.state.at("count"), HostTensor::scalar(int32_t{1}));
  EXPECT_FALSE(run.metrics.contains("param_norm"));
}

TEST(Learner, ClipsTheGlobalNormBeforeTheOptimizer) {
  Learner::Config config = plain_sgd(1);
  config.transforms = {ClipByGlobalNorm::Config{.max_norm = 6.5}};
  Training run(config, example_params());
  run.step(example_gradients());
  EXPECT_NEAR(run.params.at("a/weight").at(0), 1 - 3 * 0.5, 1e-6);
  EXPECT_NEAR(run.params.at("b").at(1), 0.25 - 12 * 0.5, 1e-6);
  EXPECT_FLOAT_EQ(run.metric("grad_norm"), 13);
}

TEST(Learner, LeavesSmallGradientsAlone) {
  Learner::Config config = plain_sgd(1);
  config.transforms = {ClipByGlobalNorm::Config{.max_norm = 13.5}};
  Training run(config, example_params());
  run.step(example_gradients());
  EXPECT_EQ(run.params.at("b").at(1), -11.75);
}

TEST(Learner, TransformsFollowOneAnother) {
  Learner::Config config = plain_sgd(1);
  config.transforms = {ClipByGlobalNorm::Config{.max_norm = 6.5},
                       ClipByGlobalNorm::Config{.max_norm = 13}};
  Training run(config, example_params());
  run.step(example_gradients());
  EXPECT_NEAR(run.params.at("b").at(1), 0.25 - 12 * 0.5, 1e-6);  // the second clip sees norm 6.5
}

TEST(Learner, FirstAdamStepHasTheSizeOfTheLearningRate) {
  Training run({.optimizer = AdamW::Config{.learning_rate = ConstantRate{.value = 0.125}}},
               example_params());
  run.step(example_gradients());
  EXPECT_NEAR(run.params.at("a/weight").at(0), 1 - 0.125, 1e-6);
  EXPECT_NEAR(run.params.at("a/weight").at(3), 4 + 0.125, 1e-6);
  EXPECT_NEAR(run.params.at("b").at(0), 0.5, 1e-6);
}

TEST(Learner, AveragesTheNewParameters) {
  Learner::Config config = plain_sgd(1);
  config.ema = ParamEma{.decay = ConstantRate{.value = 0.75}};
  Training run(config, example_params());
  EXPECT_EQ(run.state.at("ema/b"), run.params.at("b"));
  run.step(example_gradients());
  EXPECT_NEAR(run.state.at("ema/b").at(1), 0.75 * 0.25 + 0.25 * -11.75, 1e-6);
}

TEST(Learner, EmaDecayWarmsUp) {
  const EmaDecay decay{.decay = 0.9, .warmup_steps = 3};
  const auto at = [&](int32_t step) {
    return eval([&](const Values& v) { return Values{decay(v[0])}; }, {HostTensor::scalar(step)})[0]
        .at(0);
  };
  EXPECT_FLOAT_EQ(at(1), 1.0 / 2);
  EXPECT_FLOAT_EQ(at(2), 2.0 / 3);
  EXPECT_FLOAT_EQ(at(3), 0.9);
}

TEST(Learner, StateIsShardedAsItsParametersAndMatchesItsSpecs) {
  const HostTree values = example_params();
  Tree<ParamSpec> specs = specs_of(values);
  specs.at("a/weight").mesh_axes = {"fsdp", "model"};
  const Learner learner(adamw_with_everything(), {specs}, {.path = "learner"});
  const Tree<ParamSpec> state = learner.state_specs();
  for (const char* path : {"optimizer/m/a/weight", "optimizer/v/a/weight", "ema/a/weight"}) {
    EXPECT_EQ(state.at(path).partition(), specs.at("a/weight").partition()) << path;
  }
  const HostTree made =
      run_trees([&](const auto& in) { return learner.initialize(in[0]); }, {values});
  ASSERT_EQ(made.size(), state.size());
  for (const auto& [path, spec] : state) EXPECT_EQ(made.at(path).type(), spec.type()) << path;
}

TEST(Learner, ReportsAllNormsWhenAsked) {
  Training run(adamw_with_everything(), {{"w", HostTensor({2}, {3.0f, 4.0f})}});
  run.step({{"w", HostTensor({2}, {1.0f, 1.0f})}});
  EXPECT_NEAR(run.metric("update_norm"), std::hypot(0.1 + 0.1 * 0.01 * 3, 0.1 + 0.1 * 0.01 * 4),
              1e-6);
}

TEST(Learner, FieldsAreReachedByPath) {
  Learner::Config config;
  EXPECT_THAT(missing(config, "learner"),
              ::testing::ElementsAre("learner.optimizer.learning_rate.peak"));
}

TEST(Learner, MistakesNameTheField) {
  const Tree<ParamSpec> specs = specs_of(example_params());
  const auto build = [&](const Child<Optimizer>& optimizer) {
    return [&specs, optimizer] {
      Learner(Learner::Config{.optimizer = optimizer}, {specs}, {.path = "learner"});
    };
  };
  const Schedule rate = ConstantRate{.value = 1};
  EXPECT_THAT(build(AdamW::Config{.learning_rate = rate, .b2 = 1}),
              ThrowsMessage<ConfigError>(
                  "learner.optimizer.b2: expected a number of at least 0 and below 1, got 1.0"));
  EXPECT_THAT(build(AdamW::Config{.learning_rate = rate, .weight_decay_scales = {{"c.*", 0}}}),
              ThrowsMessage<ConfigError>(
                  "learner.optimizer.weight_decay_scales: 'c.*' matches no parameter"));
  EXPECT_THAT(build(AdamW::Config{.learning_rate = rate,
                                  .weight_decay_scales = {{"a.**", 0}, {"**.weight", 1}}}),
              ThrowsMessage<ConfigError>(HasSubstr("for a/weight, with ")));
  EXPECT_THAT(
      build(Sgd::Config{.learning_rate =
                            CosineWithWarmup{.peak = 1.0, .warmup_steps = 10, .max_step = 5}}),
      ThrowsMessage<ConfigError>("learner.optimizer.learning_rate.max_step: must be after "
                                 "the warm-up, got 5 and warmup_steps = 10"));
}

// Returns the learning rate that a learner reports for its first step.
double first_rate(const Schedule& rate, std::optional<int64_t> run_steps) {
  const Tree<ParamSpec> specs = specs_of(example_params());
  const Learner learner(Learner::Config{.optimizer = Sgd::Config{.learning_rate = rate}},
                        {.params = specs, .run_steps = run_steps}, {.path = "learner"});
  return run_trees(
             [&](const std::vector<Tree<Tensor>>& in) {
               return learner.apply({.params = in[0], .gradients = in[0], .state = in[1]}).metrics;
             },
             {example_params(), {{"count", HostTensor::scalar(int32_t{0})}}})
      .at("learning_rate")
      .at(0);
}

TEST(Learner, PassesTheLengthOfTheRunToSchedules) {
  const LinearWithWarmup falling{.peak = 1.0, .warmup_steps = 0};
  EXPECT_FLOAT_EQ(first_rate(falling, 10), 0.9);
  EXPECT_FLOAT_EQ(first_rate(falling, 100), 0.99);
  EXPECT_FLOAT_EQ(first_rate(LinearWithWarmup{.peak = 1.0, .warmup_steps = 0, .max_step = 4}, 100),
                  0.75);
  EXPECT_THAT(
      [&] { first_rate(falling, std::nullopt); },
      ThrowsMessage<ConfigError>("learner.optimizer.learning_rate.max_step: expected the "
                                 "last step of the schedule, got none, and no run sets it"));
}

// A layer may exempt its parameter; who names it in a pattern means it.
TEST(WeightDecayScales, PatternOverridesTheScaleOfAParameter) {
  Tree<ParamSpec> specs = specs_of(example_params());
  for (const char* path : {"b", "a/weight"}) specs.at(path).weight_decay_scale = 0;
  for (const double scale : {1.0, 0.5}) {
    const Tree<double> scales = weight_decay_scales(specs, {{"b", scale}}, "x");
    EXPECT_EQ(scales.at("b"), scale);
    EXPECT_EQ(scales.at("a/weight"), 0);
  }
}

TEST(Schedules, LinearWithWarmup) {
  const LinearWithWarmup schedule{
      .peak = 1.0, .warmup_steps = 4, .max_step = 8, .begin = 0.5, .end = 0.2};
  const auto at = [&](float step) {
    return eval([&](const Values& v) { return Values{schedule(v[0])}; },
                {HostTensor::scalar(step)})[0]
        .at(0);
  };
  EXPECT_FLOAT_EQ(at(0), 0.5);
  EXPECT_FLOAT_EQ(at(2), 0.75);
  EXPECT_FLOAT_EQ(at(4), 1);
  EXPECT_FLOAT_EQ(at(6), 0.6);
  EXPECT_FLOAT_EQ(at(9), 0.2);
}

TEST(Schedules, EndWithTheRunOrAfterTheirWarmup) {
  Learner::Config config{
      .optimizer = AdamW::Config{.learning_rate = CosineWithWarmup{.peak = 1.0},
                                 .update_schedule = LinearWithWarmup{.peak = 1.0, .max_step = 700}},
      .ema = ParamEma{.decay = CosineWithWarmup{.peak = 0.9, .warmup_steps = 0}}};
  const auto ends = [&](int64_t run_steps) {
    Learner::Config tied = config;
    set_schedule_ends(tied, run_steps);
    const auto& adamw = *tied.optimizer.get_if<AdamW>();
    return std::vector<int64_t>{
        *adamw.learning_rate.functor().get_if<CosineWithWarmup>()->max_step,
        *adamw.update_schedule.functor().get_if<LinearWithWarmup>()->max_step,
        *tied.ema->decay.functor().get_if<CosineWithWarmup>()->max_step};
  };
  EXPECT_THAT(ends(2000), ::testing::ElementsAre(2000, 700, 2000));
  EXPECT_THAT(ends(3), ::testing::ElementsAre(501, 700, 3));  // the run ends within the warm-up
}

TEST(Schedules, SchedulesThatEndBeforeTheRunAreNamed) {
  const auto early = [](Schedule rate, int64_t run_steps) {
    Learner::Config config{.optimizer = Sgd::Config{.learning_rate = std::move(rate)}};
    set_schedule_ends(config, run_steps);
    const auto lines = schedule_problems(config, run_steps, "learner");
    return lines.empty() ? std::string() : lines.at(0);
  };
  const CosineWithWarmup fixed{.peak = 1.0, .warmup_steps = 10, .max_step = 100, .alpha = 0.5};
  EXPECT_EQ(early(fixed, 100), "");
  EXPECT_EQ(early(fixed, 101),
            "learner.optimizer.learning_rate: ends at step 100 of a run of 101 and stays at "
            "0.5; a schedule without max_step ends with its run");
  EXPECT_EQ(early(Polynomial{.begin_value = 1, .end_step = 64}, 100),
            "learner.optimizer.learning_rate: is 0 from step 64 on in a run of 100; set end_step");
  EXPECT_EQ(early(CosineWithWarmup{.peak = 1.0}, 1000), "");
  EXPECT_EQ(early(CosineWithWarmup{.peak = 1.0, .warmup_steps = 9}, 10), "");
  for (const int64_t warmup : {10, 1'000'000'000}) {
    EXPECT_EQ(
        early(CosineWithWarmup{.peak = 1.0, .warmup_steps = warmup}, 10),
        fmt::format("learner.optimizer.learning_rate: its warm-up of {} steps takes the whole "
                    "run of 10; set warmup_steps",
                    warmup));
  }
  EXPECT_EQ(early(ConstantWithWarmup{.peak = 1.0}, 1000), "");
  // The last steps of a long curve round to 0; this does not count as an early end.
  for (const int64_t run_steps : {int64_t{1'000'000'000}, int64_t{2147483647}}) {
    EXPECT_EQ(early(CosineWithWarmup{.peak = 1.0}, run_steps), "");
    EXPECT_EQ(early(LinearWithWarmup{.peak = 1.0}, run_steps), "");
    EXPECT_EQ(early(Polynomial{.begin_value = 1, .end_step = run_steps}, run_steps), "");
    EXPECT_THAT(early(Polynomial{.begin_value = 1, .end_step = run_steps / 2}, run_steps),
                ::testing::HasSubstr(": is 0 from step "));
  }
  EXPECT_EQ(early(Polynomial{.end_step = 10, .end_value = 1}, 1000), "");  // a warm-up
  const Exponential falling{.begin_value = 1, .end_step = 100, .end_value = 1e-3};
  EXPECT_EQ(early(falling, 100), "");
  EXPECT_EQ(early(falling, 101),
            "learner.optimizer.learning_rate: ends at step 100 of a run of 101 and stays at "
            "0.001; set end_step");
  EXPECT_EQ(early(Exponential{.begin_value = 1e-3, .end_step = 100, .end_value = 1}, 101), "");
  EXPECT_THAT(early(Polynomial{.begin_value = 1, .end_step = 64, .end_value = 0.2}, 100),
              ::testing::HasSubstr("ends at step 64 of a run of 100 and stays at 0.2"));
}

TEST(Schedules, RangesHoldAtEveryTurningPointOfASchedule) {
  const auto refusal = [](Schedule decay, std::optional<int64_t> run_steps = {}) {
    Learner::Config config{.optimizer = Sgd::Config{.learning_rate = ConstantRate{.value = 1}},
                           .ema = ParamEma{.decay = std::move(decay)}};
    const Tree<ParamSpec> specs = specs_of(example_params());
    return error_of([&] { Learner(config, {specs, run_steps}, {.path = "learner"}); });
  };
  EXPECT_EQ(refusal(Polynomial{.begin_value = 0.5, .end_step = 100, .end_value = 1.5}),
            "learner.ema.decay: expected a number from 0 to 1 at step 99, got 1.4900000095367432");
  EXPECT_THAT(refusal(Polynomial{.begin_step = 50, .begin_value = 1.5, .end_step = 100}),
              HasSubstr("at step 1, got 1.5"));
  EXPECT_THAT(refusal(ConstantWithWarmup{.peak = 1.5, .warmup_steps = 10}),
              HasSubstr("at step 9, got "));
  EXPECT_THAT(refusal(LinearWithWarmup{.peak = 0.9, .warmup_steps = 10, .end = 1.5}, 100),
              HasSubstr("at step 55, got 1.2"));
  EXPECT_THAT(refusal(Polynomial{.end_step = 1'000'000'000'000, .end_value = 1000}),
              HasSubstr("at step 1073741824, got 1.07"));
  EXPECT_THAT(refusal(LinearWithWarmup{.peak = 1.5, .warmup_steps = 10, .begin = 1.0}, 100),
              HasSubstr("learner.ema.decay: expected "));
  EXPECT_THAT(refusal(Polynomial{.end_step = 100, .end_value = 1, .power = -1}),
              HasSubstr("at step "))
      << "infinite before its end";
  for (const double begin : {0.1, 0.3, 0.7, 0.9, 0.99, 0.999})  // f32 sums round up or down
    EXPECT_EQ(refusal(Polynomial{.begin_value = begin, .end_step = 100, .end_value = 1}),
              "no error");
  EXPECT_EQ(refusal(CosineWithWarmup{.peak = 1.0, .warmup_steps = 10}, 100), "no error");
}

TEST(Schedules, LongestWarmupDoesNotOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Learner::Config config{.optimizer = Sgd::Config{.learning_rate = CosineWithWarmup{
                                                      .peak = 1.0, .warmup_steps = kMost}}};
  set_schedule_ends(config, 10);
  const auto& rate = config.optimizer.get_if<Sgd>()->learning_rate;
  EXPECT_EQ(*rate.functor().get_if<CosineWithWarmup>()->max_step, kMost);
}

TEST(Schedules, NoWarmup) {
  const CosineWithWarmup schedule{.peak = 2.0, .warmup_steps = 0, .max_step = 4};
  const auto at = [&](int32_t step) {
    return eval([&](const Values& v) { return Values{schedule(v[0])}; },
                {HostTensor::scalar(step)})[0]
        .at(0);
  };
  EXPECT_FLOAT_EQ(at(0), 2);
  EXPECT_FLOAT_EQ(at(2), 1);
  EXPECT_NEAR(at(4), 0, 1e-6);
}

}  // namespace
}  // namespace axle
