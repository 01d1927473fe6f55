// Tests the gradients of a training step: split into microbatches, at other points, evaluated
// again.
#include "train/program/gradients.h"

#include <gmock/gmock.h>

#include "ir/text/text_form.h"
#include "layers/models/causal_lm.h"
#include "learn/learner.h"
#include "learn/optimizer.h"
#include "learn/optimizers/adafactor.h"
#include "learn/optimizers/adam.h"
#include "learn/optimizers/matrix_optimizers.h"
#include "learn/optimizers/sgd.h"
#include "learn/optimizers/sophia.h"
#include "learn/optimizers/wrapping_optimizers.h"
#include "learn/schedule.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/error_of.h"
#include "testing/host_tensors.h"
#include "train/step_run_test.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRows = 8, kLength = 16;

// Rows with 16, 14, .. targets; the last microbatches have fewer than the first.
Tree<HostTensor> uneven_batch(int64_t seed = 1) {
  SyntheticInput input({.seq_len = kLength, .batch_size = kRows},
                       {.vocab_size = 32, .seed = static_cast<uint64_t>(seed)}, Scope{});
  Tree<HostTensor> batch = input.next()->tensors;
  const auto labels = batch.at("target_labels").values<int32_t>();
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t t = kLength - 2 * row; t < kLength; ++t)
      labels[static_cast<size_t>(row * kLength + t)] = -1;
  }
  return batch;
}

Learner::Config plain_sgd(int64_t microbatches) {
  return {.optimizer = Sgd::Config{.learning_rate = ConstantRate{.value = 1}},
          .microbatches = microbatches};
}

class StepGradients : public ::testing::Test {
 protected:
  StepRun run_of(Child<Learner> learner, Child<Block> layers = tiny_loop()) {
    CausalLM::Config model = *tiny_model(std::move(layers)).get_if<CausalLM>();
    model.z_loss_scale = 1e-3;
    return {*runtime_,
            {.model = model, .learner = std::move(learner), .batch = batch_spec(kRows, kLength)}};
  }
  const std::unique_ptr<Runtime> runtime_ = make_runtime({.backend = "interpreter"});
};

TEST_F(StepGradients, ALayerComputesInTheDtypeOfItsSlot) {
  using Compute = std::optional<FloatDType>;
  const auto loss = [&](Compute of_step, Compute of_model, Compute of_layers) {
    Child<Model> model = tiny_model(tiny_loop());
    model.options.compute = of_model;
    model.get_if<CausalLM>()->decoder.get_if<Decoder>()->layers.options.compute = of_layers;
    StepRun run(*runtime_, {.model = model,
                            .learner = Learner::Config(plain_sgd(1)),
                            .batch = batch_spec(kRows, kLength),
                            .compute_dtype = of_step});
    run.set_state(run.initial_state(3));
    return run.step(uneven_batch()).at("loss");
  };
  const Compute bf16 = DType::kBF16, f32 = DType::kF32;
  const double wide = loss({}, {}, {}), narrow = loss(bf16, {}, {});
  EXPECT_NE(narrow, wide);
  EXPECT_EQ(loss(bf16, f32, {}), wide) << "the parameters are cast once, to the dtype of the slot";
  const double mixed = loss(bf16, {}, f32);
  EXPECT_NE(mixed, wide);
  EXPECT_NE(mixed, narrow);
}

TEST_F(StepGradients, AnySplitOfABatchHasTheGradientsOfTheBatch) {
  StepRun whole = run_of(plain_sgd(1));
  const Tree<HostTensor> start = whole.initial_state(3);
  whole.set_state(start);
  const Tree<double> expected = whole.step(uneven_batch());
  const Tree<HostTensor> after = whole.state();
  for (const int64_t n : {2, 4, 8}) {
    StepRun split = run_of(plain_sgd(n));
    split.set_state(start);
    const Tree<double> metrics = split.step(uneven_batch());
    ASSERT_EQ(metrics.size(), expected.size());
    for (const auto& [name, value] : expected)
      EXPECT_NEAR(metrics.at(name), value, 2e-6 * std::abs(value)) << name << " of " << n;
    for (const auto& [path, value] : split.state()) {
      if (!path.starts_with("model/")) continue;
      EXPECT_LT(testing::relative_difference(value, after.at(path)), 2e-6) << path;
    }
  }
}

TEST_F(StepGradients, APartWithoutTargetsCountsNothing) {
  Tree<HostTensor> batch = uneven_batch();
  const auto labels = batch.at("target_labels").values<int32_t>();
  std::fill(labels.begin() + (kRows - 1) * kLength, labels.end(), -1);
  StepRun whole = run_of(plain_sgd(1)), split = run_of(plain_sgd(8));
  const Tree<HostTensor> start = whole.initial_state(4);
  whole.set_state(start);
  split.set_state(start);
  const Tree<double> expected = whole.step(batch), metrics = split.step(batch);
  EXPECT_NEAR(metrics.at("loss"), expected.at("loss"), 1e-5);
  EXPECT_NEAR(metrics.at("grad_norm"), expected.at("grad_norm"), 1e-5);
}

// Two rows at once are four microbatches of eight rows; the last has no targets.
TEST_F(StepGradients, AnEvaluationInPartsIsThatOfTheBatch) {
  Tree<HostTensor> batch = uneven_batch();
  const auto labels = batch.at("target_labels").values<int32_t>();
  std::fill(labels.begin() + (kRows - 2) * kLength, labels.end(), -1);
  const auto metrics = [&](std::optional<Positive<int64_t>> device_rows, std::string* text) {
    Learner::Config learner = plain_sgd(1);
    learner.device_rows = device_rows;
    StepRun run = run_of(learner);
    const Program program = eval_program(run.spec());
    *text = print(*program.graph);
    Tree<HostTensor> arguments = run.initial_state(3);
    arguments.insert(batch.begin(), batch.end());
    std::vector<HostTensor> values;
    for (const ProgramValue& input : program.inputs) values.push_back(arguments.at(input.name));
    Tree<double> out;
    const std::vector<HostTensor> results = evaluate(*program.graph, values);
    for (size_t i = 0; i < results.size(); ++i)
      out.emplace(program.outputs[i].name, results[i].at(0));
    return out;
  };
  std::string at_once, in_microbatches;
  const Tree<double> expected = metrics({}, &at_once), got = metrics(2, &in_microbatches);
  EXPECT_THAT(in_microbatches, HasSubstr("[4, 2, 16]"));
  EXPECT_THAT(at_once, Not(HasSubstr("[4, 2, 16]")));
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, value] : expected)
    EXPECT_NEAR(got.at(name), value, 2e-6 * std::abs(value)) << name;
  EXPECT_EQ(got.at("num_targets"), expected.at("num_targets"));
}

TEST_F(StepGradients, PartsMustBeEqual) {
  EXPECT_THAT(error_of<ConfigError>([&] { run_of(plain_sgd(3)); }),
              HasSubstr("learner.microbatches: must divide the rows of a batch, got 3 and "));
}

TEST_F(StepGradients, FrozenParametersGetNone) {
  Learner::Config config = plain_sgd(2);
  config.frozen = {"model.decoder.layers.**"};
  StepRun run = run_of(config);
  const Tree<HostTensor> start = run.initial_state(3);
  run.set_state(start);
  run.step(uneven_batch());
  for (const auto& [path, value] : run.state()) {
    if (!path.starts_with("model/")) continue;
    EXPECT_EQ(value == start.at(path), path.starts_with("model/decoder/layers/")) << path;
  }
}

// Takes steps on one batch. Returns the first and the last loss.
std::pair<double, double> losses(StepRun& run, int steps) {
  run.set_state(run.initial_state(3));
  const double first = run.step(uneven_batch()).at("loss");
  double last = first;
  for (int i = 1; i < steps; ++i) last = run.step(uneven_batch()).at("loss");
  return {first, last};
}

std::vector<std::pair<std::string, Child<Optimizer>>> optimizers() {
  const Schedule rate = ConstantRate{.value = 1e-2};
  const AdamW::Config adamw{.learning_rate = rate};
  return {{"Adafactor", Adafactor::Config{.learning_rate = rate}},
          {"Muon", Muon::Config{.learning_rate = rate, .others = adamw}},
          {"Soap", Soap::Config{.learning_rate = rate, .every_steps = 2, .others = adamw}},
          {"ScheduleFree", ScheduleFree::Config{.inner = adamw}},
          {"SkipAndClip", SkipAndClip::Config{.inner = adamw, .drop_norm = TimesMeanNorm{}}},
          {"Sophia", Sophia::Config{.learning_rate = rate, .every_steps = 3}},
          {"Hutchinson",
           Sophia::Config{
               .learning_rate = rate, .every_steps = 3, .curvature = Curvature::kHutchinson}}};
}

TEST_F(StepGradients, EveryOptimizerLearnsABatch) {
  for (const auto& [name, optimizer] : optimizers()) {
    for (const int64_t microbatches : {1, 2}) {
      StepRun run = run_of(Learner::Config{.optimizer = optimizer, .microbatches = microbatches});
      const auto [first, last] = losses(run, 10);
      EXPECT_LT(last, first - 0.3) << name << " in microbatches: " << microbatches;
    }
  }
}

// The shardings of state and microbatches are checked while the programs are traced.
TEST_F(StepGradients, EveryOptimizerFitsAMesh) {
  const auto model = tiny_model(tiny_loop()).build({}, Scope{.path = "model"});
  for (const auto& [name, optimizer] : optimizers()) {
    const Learner learner({.optimizer = optimizer, .microbatches = 2},
                          {.params = model->param_specs()}, {.path = "learner"});
    const ProgramSpec spec{.model = *model,
                           .learner = &learner,
                           .batch = batch_spec(kRows, kLength),
                           .mesh = Mesh{{{"data", 2}, {"fsdp", 2}, {"model", 2}}},
                           .batch_partition = Trainer::Config{}.batch_partition};
    EXPECT_FALSE(step_program(spec).text.empty()) << name;
    EXPECT_FALSE(init_program(spec).text.empty()) << name;
  }
}

// What Sophia measures of a model: the squared gradient for targets that the model draws, times
// their number; and u * (H u), whose sum over the parameters is the curvature along u.
TEST_F(StepGradients, TheObjectiveCanBeEvaluatedAgain) {
  StepRun run = run_of(Learner::Config{
      .optimizer = Sophia::Config{.learning_rate = ConstantRate{.value = 0}, .every_steps = 2}});
  run.set_state(run.initial_state(3));
  run.step(uneven_batch());
  const Tree<HostTensor> first = run.state();
  run.step(uneven_batch());
  const Tree<HostTensor> second = run.state();
  for (const auto& [path, value] : first) {
    if (!path.starts_with("learner/optimizer/h/")) continue;
    double sum = 0;
    for (const float h : value.values<float>()) {
      EXPECT_GE(h, 0);
      sum += h;
    }
    EXPECT_GT(sum, 0) << path;
    EXPECT_EQ(value, second.at(path)) << path;  // measured every second step
  }
}

}  // namespace
}  // namespace axle
