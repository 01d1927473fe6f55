// Tests the state that layers keep in training, with moving statistics of a norm defined here:
// through loops, rematerialisation, checkpoints and evaluation.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "layers/blocks/stack.h"
#include "layers/norms/batch_norms.h"
#include "layers/norms/norm.h"
#include "nn/remat_policies.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/error_of.h"
#include "train/config/run_modules.h"
#include "train/program/non_finite.h"
#include "train/step_run_test.h"
#include "train/trainer_run_test.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

// Divides by the root mean square of the channels: of the current batch in training, else the
// moving average over past batches.
class SeenRms final : public Norm {
 public:
  struct Config {
    double decay = 0.75;
    bool declares = true;
    bool of_right_shape = true;
    AXLE_CONFIG(SeenRms, decay, declares, of_right_shape)
  };
  SeenRms(const Config& cfg, const Dims& dims, const Scope& scope) : Norm(scope), cfg_(cfg) {
    if (!cfg.declares) return;
    declare_state("square", {.shape = {dims.input_dim}, .init = Ones{}});
    declare_state("calls", {.dtype = DType::kI32});
  }

 protected:
  Tensor forward(const Tensor& x_BTD) override {
    if (!is_training()) return x_BTD / astype(sqrt(state("square")), x_BTD.dtype());
    const Tensor square_D = mean(square(astype(x_BTD, DType::kF32)), {0, 1});
    if (cfg_.declares) {
      set_state("square", cfg_.decay * state("square") + (1 - cfg_.decay) * square_D);
      set_state("calls", state("calls") + 1);
    }
    if (!cfg_.of_right_shape) set_state("square", sum(square_D));
    if (!cfg_.declares) set_state("square", square_D);
    return x_BTD / astype(sqrt(square_D), x_BTD.dtype());
  }

 private:
  Config cfg_;
};
AXLE_REGISTER(SeenRms)

// Returns the tiny model with this norm in its attention layers.
Child<Model> layer_state_model_of(const Child<Norm>& norm, bool loop, bool with_remat = false) {
  TransformerLayer::Config layer = tiny_layer();
  layer.attention.get_if<PreNorm>()->norm = norm;
  Child<Block> child = layer;
  if (with_remat) child.options.remat = SaveNothing{};
  Child<Block> stack = Stacked::Config{.num_layers = 2, .layer = child};
  if (loop) stack = Repeat::Config{.num_layers = 2, .layer = child};
  return tiny_model(stack);
}

constexpr const char* kStacked = "state/model/decoder/layers/layer{}/attention/norm/{}";
constexpr const char* kLooped = "state/model/decoder/layers/layer/attention/norm/{}";

// Stacks the states of two layers, as a loop holds them.
HostTensor stacked(const HostTensor& a, const HostTensor& b) {
  Shape shape = a.shape();
  shape.insert(shape.begin(), 2);
  HostTensor out({a.dtype(), shape});
  std::ranges::copy(a.bytes(), out.bytes().begin());
  std::ranges::copy(b.bytes(), out.bytes().begin() + a.bytes().size());
  return out;
}

class LayerState : public ::testing::Test {
 protected:
  StepRun run_of(Child<Model> model) {
    return {*runtime_,
            {.model = std::move(model), .learner = tiny_learner(), .batch = batch_spec(8, 16)}};
  }
  static SyntheticInput tokens() {
    return {{.seq_len = 16, .batch_size = 8}, {.vocab_size = 32, .seed = 1}, Scope{}};
  }
  // Takes three steps from `state` and returns the final state.
  Tree<HostTensor> after_three_steps(StepRun& run, Tree<HostTensor> state) {
    run.set_state(state);
    SyntheticInput input = tokens();
    for (int i = 0; i < 3; ++i) losses_.push_back(run.step(input.next()->tensors).at("loss"));
    return run.state();
  }
  // Expects the same losses and the same state `names` of the norm, whether the blocks are unrolled
  // or a loop, and whether they are rematerialised.
  void expect_same_in_loops_and_under_remat(const Child<Norm>& norm,
                                            const std::vector<const char*>& names) {
    StepRun plain = run_of(layer_state_model_of(norm, /*loop=*/false));
    const Tree<HostTensor> start = plain.initial_state(3);
    const Tree<HostTensor> expected = after_three_steps(plain, start);
    const std::vector<double> losses = std::exchange(losses_, {});

    StepRun remat = run_of(layer_state_model_of(norm, /*loop=*/false, /*with_remat=*/true));
    EXPECT_EQ(after_three_steps(remat, start), expected);
    losses_.clear();

    for (const bool with_remat : {false, true}) {
      StepRun loop = run_of(layer_state_model_of(norm, /*loop=*/true, with_remat));
      Tree<HostTensor> looped;
      for (const ProgramValue& leaf : loop.leaves()) {
        const size_t at = leaf.name.find("layers/layer/");
        if (at == leaf.name.npos) {
          looped.emplace(leaf.name, start.at(leaf.name));
          continue;
        }
        const std::string head = leaf.name.substr(0, at), tail = leaf.name.substr(at + 13);
        looped.emplace(leaf.name, stacked(start.at(head + "layers/layer0/" + tail),
                                          start.at(head + "layers/layer1/" + tail)));
      }
      const Tree<HostTensor> end = after_three_steps(loop, looped);
      for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(losses_[i], losses[i], 1e-6);
      losses_.clear();
      for (const char* what : names) {
        const HostTensor both = end.at(fmt::format(fmt::runtime(kLooped), what));
        const HostTensor want = stacked(expected.at(fmt::format(fmt::runtime(kStacked), 0, what)),
                                        expected.at(fmt::format(fmt::runtime(kStacked), 1, what)));
        ASSERT_EQ(both.type(), want.type());
        for (int64_t i = 0; i < both.size(); ++i) EXPECT_NEAR(both.at(i), want.at(i), 1e-5) << what;
      }
    }
  }
  const std::unique_ptr<Runtime> runtime_ = make_runtime({.backend = "interpreter"});
  std::vector<double> losses_;
};

TEST_F(LayerState, StateIsPartOfTheTrainingStateAndChangesOnceAStep) {
  StepRun run = run_of(layer_state_model_of(SeenRms::Config{}, /*loop=*/false));
  const Tree<HostTensor> start = run.initial_state(3);
  const Tree<HostTensor> end = after_three_steps(run, start);
  for (int layer : {0, 1}) {
    const auto name = [&](const char* what) {
      return fmt::format(fmt::runtime(kStacked), layer, what);
    };
    EXPECT_EQ(start.at(name("square")), HostTensor::ones({16}));
    EXPECT_EQ(end.at(name("calls")), HostTensor::scalar(int32_t{3}));
    EXPECT_NE(end.at(name("square")), start.at(name("square")));
  }
}

TEST_F(LayerState, StateIsTheSameInLoopsAndUnderRemat) {
  expect_same_in_loops_and_under_remat(SeenRms::Config{}, {"square", "calls"});
  expect_same_in_loops_and_under_remat(BatchNorm::Config{.decay = 0.75},
                                       {"moving_mean", "moving_variance"});
}

TEST_F(LayerState, StaysAsItIsInAStepThatIsNotKept) {
  StepRun run = run_of(layer_state_model_of(SeenRms::Config{}, /*loop=*/false));
  Tree<HostTensor> state = run.initial_state(3);
  HostTensor& weight = state.at("model/decoder/output_norm/scale");
  weight = HostTensor::full(weight.shape(), std::numeric_limits<double>::quiet_NaN());
  Tree<HostTensor> end = after_three_steps(run, state);
  for (const auto& [name, value] : state) {
    if (!name.starts_with("state/")) continue;
    EXPECT_EQ(end.at(name), value) << name;
  }
}

// The loss does not see the bad state, but a later evaluation would. A run saves nothing of such a
// step (trainer_finite_test.cpp).
TEST_F(LayerState, StateThatIsNotFiniteIsNamedByTheStep) {
  StepRun run = run_of(layer_state_model_of(SeenRms::Config{}, /*loop=*/false));
  Tree<HostTensor> state = run.initial_state(3);
  HostTensor& square = state.at(fmt::format(fmt::runtime(kStacked), 1, "square"));
  square = HostTensor::full(square.shape(), std::numeric_limits<double>::infinity());
  run.set_state(state);
  const Tree<double> metrics = run.step(tokens().next()->tensors);
  EXPECT_EQ(metrics.at("skipped"), 0);
  const auto part = static_cast<size_t>(metrics.at("not_finite"));
  EXPECT_EQ(FiniteState(run.leaves()).groups().at(part),
            fmt::format(fmt::runtime(kStacked), 1, "square"));
}

TEST_F(LayerState, MistakesAreNamed) {
  EXPECT_THAT(
      error_of([&] { run_of(layer_state_model_of(SeenRms::Config{.declares = false}, false)); }),
      HasSubstr("model/decoder/layers/layer0/attention/norm/square: expected state that the "
                "layer declares, got none of this name"));
  EXPECT_THAT(
      error_of<ShapeError>(
          [&] { run_of(layer_state_model_of(SeenRms::Config{.of_right_shape = false}, false)); }),
      HasSubstr("layer0/attention/norm/square: expected the state's type f32[16], got f32[]"));
}

class LayerStateRun : public TrainerTest {
 protected:
  static Trainer::Config config(int64_t steps, bool loop) {
    Trainer::Config out = config_of(steps);
    out.model = layer_state_model_of(SeenRms::Config{}, loop);
    return out;
  }
  double evaluated_loss(const std::string& name, int64_t step) const {
    for (const auto& record : metrics_of(run(name))) {
      if (record.contains("split") && record.at("step") == step) return record.at("loss");
    }
    ADD_FAILURE() << "no evaluation at step " << step;
    return 0;
  }
};

// Returns the loss over the evaler's batches, with these parameters and this state of layers.
double forward_loss(const Trainer::Config& config, const Tree<HostTensor>& state) {
  const RunModules training(config);
  const auto input =
      training.config.evalers.at("held_out").input.build(training.input_dims, Scope{});
  const Program program = eval_program(training.program_spec({}, input->element_spec()));
  const auto loss = static_cast<size_t>(
      std::ranges::find(program.outputs, "loss", &ProgramValue::name) - program.outputs.begin());
  double sum = 0, num_targets = 0;
  while (const auto batch = input->next()) {
    std::vector<HostTensor> arguments;
    for (const ProgramValue& value : program.inputs) {
      const auto it = batch->tensors.find(value.name);
      arguments.push_back(it == batch->tensors.end() ? state.at(value.name) : it->second);
    }
    const auto weight = static_cast<double>(batch->num_targets);
    sum += weight * evaluate(*program.graph, arguments)[loss].at(0);
    num_targets += weight;
  }
  return sum / num_targets;
}

// Returns `state` with the layers' part as at the start of a run.
Tree<HostTensor> with_initial_layer_state(Tree<HostTensor> state) {
  for (auto& [name, value] : state) {
    if (name.starts_with("state/"))
      value = HostTensor::full(value.shape(), name.ends_with("/square") ? 1 : 0, value.dtype());
  }
  return state;
}

TEST_F(LayerStateRun, StateIsSavedResumedAndReadByEvaluations) {
  for (const bool loop : {false, true}) {
    const std::string whole = loop ? "whole loop" : "whole", parts = loop ? "parts loop" : "parts";
    EXPECT_EQ(train(config(12, loop), whole).code, ExitCode::kOk);
    train(config(5, loop), parts);
    EXPECT_EQ(train(config(12, loop), parts).code, ExitCode::kOk);
    const Tree<HostTensor> state = state_of(run(whole)).tensors;
    EXPECT_EQ(state_of(run(parts)).tensors, state);
    int kept = 0;
    for (const auto& [name, value] : state) {
      kept += name.starts_with("state/");
      if (!name.starts_with("state/") || !name.ends_with("/calls")) continue;
      EXPECT_EQ(value.at(0), 12);
    }
    EXPECT_EQ(kept, loop ? 2 : 4);
    EXPECT_EQ(evaluated_loss(whole, 12), forward_loss(config(12, loop), state));
    EXPECT_NE(evaluated_loss(whole, 12),
              forward_loss(config(12, loop), with_initial_layer_state(state)));
  }
}

TEST_F(LayerStateRun, StateIsTakenFromAnotherRun) {
  for (const bool loop : {false, true}) {
    const std::string first = loop ? "first loop" : "first",
                      second = loop ? "second loop" : "second";
    train(config(5, loop), first);
    Trainer::Config none_changes = config(1, loop);
    none_changes.model = layer_state_model_of(SeenRms::Config{.decay = 1}, loop);
    RunOptions options;
    options.init.folder = run(first);
    const Ended ended = train(none_changes, second, options);
    EXPECT_EQ(ended.error, "");
    EXPECT_THAT(ended.out, HasSubstr("starts with the parameters of " + run(first).string() +
                                     " after step 5\n"));
    const Tree<HostTensor> from = state_of(run(first)).tensors,
                           state = state_of(run(second)).tensors;
    int kept = 0;
    for (const auto& [name, value] : state) {
      if (!name.starts_with("state/")) continue;
      ++kept;
      if (name.ends_with("/square")) {
        EXPECT_EQ(value, from.at(name)) << name;
      } else {
        EXPECT_EQ(value.at(0), 6) << name;
      }
    }
    EXPECT_EQ(kept, loop ? 2 : 4);
  }
}

TEST_F(LayerStateRun, StateThatAnotherRunLacksStartsFreshAndIsReported) {
  // The saved run holds only weights, like an import.
  Trainer::Config config = this->config(1, /*loop=*/false);
  train(config, "first");
  RestoredTensors saved = state_of(run("first"));
  std::erase_if(saved.tensors, [](const auto& entry) { return entry.first.starts_with("state/"); });
  std::filesystem::remove_all(run("first") / "checkpoints");
  const auto save = [&](int64_t step) {
    Checkpointer({.mode = SaveMode::kBlocking}, run("first") / "checkpoints")
        .save(step, saved.tensors, saved.metadata);
  };
  save(1);
  RunOptions options;
  options.init.folder = run("first");
  const Ended ended = train(config, "second", options);
  EXPECT_THAT(ended.out, HasSubstr("after step 1; it holds no state of layers, which start with "
                                   "their initial values\n"));
  const std::string calls = fmt::format(fmt::runtime(kStacked), 0, "calls");
  EXPECT_EQ(state_of(run("second")).tensors.at(calls).at(0), 1);

  // A part of the state of layers is an error.
  saved.tensors.emplace(calls, HostTensor::scalar(int32_t{3}));
  save(2);
  EXPECT_THAT(train(config, "third", options).error,
              HasSubstr("layer0/attention/norm/square: expected f32[16], got none"));
}

}  // namespace
}  // namespace axle
