// Compares the training step through a PJRT plugin with recorded steps of another implementation,
// and with the interpreter.

#include "data/synthetic_input.h"
#include "layers/blocks/stack.h"
#include "nn/remat_policies.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/host_tensors.h"
#include "testing/plugin_fixture.h"
#include "train/tiny_config_test.h"
#include "train/train_fixture_test.h"

namespace axle {
namespace {

class TrainSteps : public PluginTest {
 protected:
  const std::unique_ptr<Runtime> interpreter_ = make_runtime({.backend = "interpreter"});
};

TEST_F(TrainSteps, AllRecordedSteps) { expect_recorded_steps(*runtime_); }

struct Tolerance {
  double metrics, state;
};

// Takes a few steps on both runtimes from the same state. Compares every metric and every leaf of
// the state.
void expect_same_steps(Runtime& a, Runtime& b, const StepRunOptions& options, Tolerance tolerance) {
  StepRun first(a, options), second(b, options);
  const Tree<HostTensor> start = first.initial_state(5);
  first.set_state(start);
  second.set_state(start);
  SyntheticInput input({.seq_len = 16, .batch_size = 8}, {.vocab_size = 32, .seed = 9}, {});
  for (int i = 0; i < 4; ++i) {
    const Batch batch = *input.next();
    const Tree<double> x = first.step(batch.tensors), y = second.step(batch.tensors);
    ASSERT_GT(x.size(), 4u);
    for (const auto& [name, value] : y)
      EXPECT_NEAR(x.at(name), value, tolerance.metrics * std::max(1.0, std::abs(value)))
          << name << ", step " << i;
    const Tree<HostTensor> ours = first.state();
    for (const auto& [path, value] : second.state()) {
      if (!is_float(value.dtype())) {
        EXPECT_EQ(ours.at(path), value) << path;
      } else {
        EXPECT_LE(testing::relative_difference(ours.at(path), value), tolerance.state)
            << path << ", step " << i;
      }
    }
  }
}

// AdamW's update of an element is a quotient of its moments. With the usual eps, the last bits of a
// gradient that is nearly zero decide the sign of its update. With this eps, they hardly count.
StepRunOptions tiny_options(Child<Block> layers) {
  return {.model = tiny_model(std::move(layers)),
          .learner = Learner::Config{.optimizer =
                                         AdamW::Config{.learning_rate = ConstantRate{.value = 1e-2},
                                                       .eps = 1e-2,
                                                       .weight_decay = 1e-2},
                                     .transforms = {ClipByGlobalNorm::Config{}}},
          .batch = batch_spec(8, 16)};
}

TEST_F(TrainSteps, InterpreterAndPluginAgree) {
  expect_same_steps(*runtime_, *interpreter_, tiny_options(tiny_stack(0.2)), {1e-5, 1e-5});
}

TEST_F(TrainSteps, InterpreterAndPluginAgreeOnALoopWithRemat) {
  Repeat::Config layers{
      .num_layers = 2,
      .layer = {tiny_layer(0.2), {.remat = SaveNames{.names = {"q_proj", "attention_output"}}}}};
  StepRunOptions options = tiny_options(layers);
  options.layer_summaries = true;
  expect_same_steps(*runtime_, *interpreter_, options, {1e-5, 1e-5});
}

TEST_F(TrainSteps, InterpreterAndPluginAreCloseInBf16) {
  StepRunOptions options = tiny_options(tiny_loop());
  options.compute_dtype = DType::kBF16;
  expect_same_steps(*runtime_, *interpreter_, options, {2e-2, 1e-1});
}

}  // namespace
}  // namespace axle
