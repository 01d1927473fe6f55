// Tests training steps of mixtures of experts on a plugin: meshes with an axis of experts give what
// one device gives, and the interpreter gives it too.
#include "config/register.h"
#include "config/replace.h"
#include "layers/experts/dispatch.h"
#include "layers/experts/linear_routers.h"
#include "layers/experts/moe.h"
#include "pjrt/pjrt_runtime.h"
#include "testing/host_tensors.h"
#include "testing/plugin_fixture.h"
#include "train/step_run_test.h"
#include "train/tiny_config_test.h"

namespace axle {
namespace {

Child<Model> model_of(Child<Router> router, Child<Dispatch> dispatch) {
  Trainer::Config config = tiny_config();
  config.model = tiny_model(tiny_loop());
  replace_config<FeedForward>(
      config,
      MoE::Config{.num_experts = 4, .router = std::move(router), .dispatch = std::move(dispatch)});
  return config.model;
}

class ExpertsOnPlugin : public PluginTest {
 protected:
  ExpertsOnPlugin() : PluginTest(8) {}

  struct History {
    std::vector<double> losses;
    Tree<HostTensor> state;
  };
  static History history(Runtime& runtime, const Child<Model>& model, const std::string& mesh) {
    StepRunOptions options{
        .model = model, .learner = tiny_learner(), .batch = batch_spec(8, 16), .mesh = {}};
    from_text(mesh, options.mesh);
    // Near zero, the last bits of a gradient would decide the sign of AdamW's update.
    options.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->eps = 1e-2;
    StepRun run(runtime, options);
    run.set_state(run.initial_state(1));
    SyntheticInput input({.seq_len = 16, .batch_size = 8}, {.vocab_size = 32, .seed = 2}, {});
    History out;
    for (int i = 0; i < 5; ++i) out.losses.push_back(run.step(input.next()->tensors).at("loss"));
    out.state = run.state();
    return out;
  }
  static void expect_same(const History& actual, const History& expected,
                          const std::string& where) {
    for (size_t i = 0; i < expected.losses.size(); ++i)
      EXPECT_NEAR(actual.losses[i], expected.losses[i], 1e-5 * expected.losses[i]) << where;
    for (const auto& [path, value] : expected.state) {
      if (is_float(value.dtype())) {
        EXPECT_LE(testing::relative_difference(actual.state.at(path), value), 1e-4)
            << where << ", " << path;
      }
    }
  }
  void expect_same_everywhere(const Child<Router>& router, const Child<Dispatch>& dispatch) {
    const Child<Model> model = model_of(router, dispatch);
    const History expected = history(*runtime_, model, "");
    for (const char* mesh : {"data=2,expert=4", "expert=2,fsdp=2,model=2"})
      expect_same(history(*runtime_, model, mesh), expected, mesh);
    expect_same(history(*make_runtime({.backend = "interpreter"}), model, ""), expected,
                "interpreter");
  }
};

TEST_F(ExpertsOnPlugin, Sorted) {
  expect_same_everywhere(BalancedRouter::Config{.top_k = 2}, SortedDispatch::Config{});
}

using WeeklyExpertsOnPlugin = ExpertsOnPlugin;

TEST_F(WeeklyExpertsOnPlugin, ExpertsWithCapacityAgreeOnAnyMesh) {
  expect_same_everywhere(TopKRouter::Config{},
                         CapacityDispatch::Config{.outer_batch = 2, .num_groups = 4});
}

}  // namespace
}  // namespace axle
