// Tests mixtures of experts in training: their losses reach the objective, loads become equal, and
// remat changes nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "layers/blocks/stack.h"
#include "layers/experts/dispatch.h"
#include "layers/experts/linear_routers.h"
#include "layers/experts/moe.h"
#include "layers/pipeline/pipeline.h"
#include "nn/remat_policies.h"
#include "pjrt/pjrt_runtime.h"
#include "train/config/run_modules.h"
#include "train/step_run_test.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

MoE::Config experts(Child<Router> router) {
  return {.num_experts = 4,
          .router = std::move(router),
          .hidden_dim = FixedDim{8},
          .gate = Linear::Config{.bias = false}};
}

Child<Model> model_of(const MoE::Config& moe, bool with_remat) {
  TransformerLayer::Config layer = tiny_layer();
  layer.feed_forward.get_if<PreNorm>()->body = moe;
  Child<Block> child = layer;
  if (with_remat) child.options.remat = SaveNothing{};
  return tiny_model(Repeat::Config{.num_layers = 2, .layer = child});
}

class ExpertsTraining : public ::testing::Test {
 protected:
  StepRun run_of(const MoE::Config& moe, bool with_remat = false) {
    return {*runtime_,
            {.model = model_of(moe, with_remat),
             .learner = tiny_learner(),
             .batch = batch_spec(8, 16),
             .layer_summaries = true}};
  }
  const std::unique_ptr<Runtime> runtime_ = make_runtime({.backend = "interpreter"});
};

std::string layer_name(std::string_view what, int layer = 0) {
  return fmt::format("summary/model/decoder/layers/layer/feed_forward/body/{}/{}", what, layer);
}

// Takes steps on synthetic tokens and returns the metrics of each.
std::vector<Tree<double>> train(StepRun& run, const Tree<HostTensor>& state, int num_steps) {
  run.set_state(state);
  SyntheticInput input({.seq_len = 16, .batch_size = 8}, {.vocab_size = 32, .seed = 1}, Scope{});
  std::vector<Tree<double>> out;
  for (int i = 0; i < num_steps; ++i) out.push_back(run.step(input.next()->tensors));
  return out;
}

// Returns the mean of a metric over the steps from `first` on.
double mean_of(const std::vector<Tree<double>>& steps, size_t first, const std::string& name) {
  double sum = 0;
  for (size_t i = first; i < steps.size(); ++i) sum += steps[i].at(name);
  return sum / static_cast<double>(steps.size() - first);
}

TEST_F(ExpertsTraining, LossesAreTrainedByDefault) {
  StepRun run = run_of(experts(TopKRouter::Config{}));
  const Tree<double> first = train(run, run.initial_state(3), 1)[0];
  double expected = 0;
  for (int layer : {0, 1}) {
    expected += 0.01 * first.at(layer_name("router/load_balance_loss", layer)) +
                0.001 * first.at(layer_name("router/z_loss", layer));
  }
  EXPECT_GT(expected, 0.02);
  EXPECT_NEAR(first.at("aux_loss"), expected, 1e-6);
  EXPECT_NEAR(first.at("loss"), first.at("cross_entropy") + expected, 1e-5);
}

TEST_F(ExpertsTraining, RematChangesNothing) {
  for (const Child<Router>& router :
       {Child<Router>(TopKRouter::Config{}), Child<Router>(BalancedRouter::Config{.top_k = 2})}) {
    SCOPED_TRACE(router.any().type().name);
    StepRun loop = run_of(experts(router)), remat = run_of(experts(router), /*with_remat=*/true);
    const Tree<HostTensor> start = loop.initial_state(3);
    const auto expected = train(loop, start, 4), actual = train(remat, start, 4);
    EXPECT_EQ(actual, expected);
    EXPECT_EQ(remat.state(), loop.state());
  }
}

// The tokens of this task are much alike: without help, one expert gets nearly all of them.
void expect_balanced(const std::vector<Tree<double>>& with,
                     const std::vector<Tree<double>>& without) {
  for (int layer : {0, 1}) {
    const std::string name = layer_name("router/max_load", layer);
    EXPECT_LT(mean_of(with, 50, name), 2.5) << layer;
    EXPECT_GT(mean_of(without, 50, name), 3.5) << layer;
  }
  EXPECT_LT(mean_of(with, 50, "cross_entropy"), with[0].at("cross_entropy") - 0.3);
}

TEST_F(ExpertsTraining, TheLossKeepsExpertsInUse) {
  const auto steps = [&](double weight) {
    StepRun run =
        run_of(experts(TopKRouter::Config{.top_k = 1, .losses = {.load_balance = weight, .z = 0}}));
    return train(run, run.initial_state(3), 60);
  };
  expect_balanced(steps(0.1), steps(0));
}

TEST_F(ExpertsTraining, TheBiasKeepsExpertsInUseWithoutALoss) {
  const auto steps = [&](double rate) {
    StepRun run = run_of(experts(BalancedRouter::Config{.top_k = 1,
                                                        .update_rate = rate,
                                                        .routed_scale = 1,
                                                        .losses = {.load_balance = 0, .z = 0}}));
    return train(run, run.initial_state(3), 60);
  };
  const auto with = steps(0.02);
  EXPECT_FALSE(with[0].contains("aux_loss"));
  expect_balanced(with, steps(0));
}

// Microbatches of a step see one bias and count together, whoever makes them.
TEST_F(ExpertsTraining, MicrobatchesMoveTheBiasAsTheWholeBatchDoes) {
  const MoE::Config moe = experts(BalancedRouter::Config{
      .top_k = 2, .losses = {.load_balance = 0, .z = 0, .sequence_balance = 0}});
  const auto states = [&](const Child<Model>& model, int64_t microbatches) {
    Child<Learner> learner = tiny_learner();
    learner.get_if<Learner>()->microbatches = microbatches;
    StepRun run(*runtime_, {.model = model, .learner = learner, .batch = batch_spec(8, 16)});
    train(run, run.initial_state(3), 2);
    return run.state();
  };
  const std::string bias = "state/model/decoder/layers/layer/feed_forward/body/router/bias";
  const HostTensor expected = states(model_of(moe, false), 1).at(bias);
  EXPECT_NE(expected, HostTensor(expected.type()));
  EXPECT_EQ(states(model_of(moe, false), 4).at(bias), expected);

  TransformerLayer::Config layer = tiny_layer();
  layer.feed_forward.get_if<PreNorm>()->body = moe;
  const Child<Model> pipeline =
      tiny_model(Pipeline::Config{.num_layers = 2, .num_microbatches = 4, .layer = layer});
  EXPECT_EQ(states(pipeline, 1).at(bias), expected);
  EXPECT_EQ(states(pipeline, 2).at(bias), expected);
}

// Layers after the experts draw random numbers with keys of their own.
TEST(ExpertsOnMeshes, StepsWithDropoutAreTraced) {
  for (const Child<Dispatch>& dispatch :
       {Child<Dispatch>(SortedDispatch::Config{}),
        Child<Dispatch>(CapacityDispatch::Config{.num_groups = 2})}) {
    TransformerLayer::Config layer = tiny_layer(0.1);
    MoE::Config moe = experts(TopKRouter::Config{.top_k = 2});
    moe.dispatch = dispatch;
    layer.feed_forward.get_if<PreNorm>()->body = moe;
    for (const Child<Block>& stack :
         {Child<Block>(Stacked::Config{.num_layers = 2, .layer = layer}),
          Child<Block>(Repeat::Config{.num_layers = 2, .layer = layer})}) {
      Trainer::Config config = tiny_config();
      config.model = tiny_model(stack);
      const RunModules training(config);
      for (const char* axis : {"data", "fsdp", "expert", "seq", "model"}) {
        SCOPED_TRACE(
            fmt::format("{} {} {}", dispatch.any().type().name, stack.any().type().name, axis));
        const Mesh mesh{{{axis, 2}}};
        EXPECT_NO_THROW(
            step_program(training.program_spec(mesh, training.make_input()->element_spec())));
      }
    }
  }
}

}  // namespace
}  // namespace axle
