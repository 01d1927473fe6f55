// Tests what layers print with debug_print while they are trained, and the search for the op that
// makes the first non-finite number of a step.
#include <fmt/format.h>

#include "layers/norms/norm.h"
#include "nn/remat_policies.h"
#include "ops/ops.h"
#include "train/trainer_run_test.h"

namespace axle {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// Prints its largest input. Multiplies the cotangent by a factor, in the backward pass alone.
class Talking final : public Norm {
 public:
  struct Config {
    bool prints = true;
    bool overflows_backward = false;
    AXLE_CONFIG(Talking, prints, overflows_backward)
  };
  Talking(const Config& cfg, const Dims&, const Scope& scope) : Norm(scope), cfg_(cfg) {}

 protected:
  Tensor forward(const Tensor& x) override {
    if (cfg_.prints) debug_print("largest {} of {}", reduce_max(x, all_axes(x)), x);
    if (!cfg_.overflows_backward) return x;
    // sqrt(0) is 0, and its derivative is infinite.
    return x + sqrt(x - stop_gradient(x));
  }

 private:
  Config cfg_;
};
AXLE_REGISTER(Talking)

Trainer::Config config_with(const Talking::Config& norm, int64_t max_steps, bool loop,
                            bool with_remat = false) {
  TransformerLayer::Config layer = tiny_layer();
  layer.attention.get_if<PreNorm>()->norm = norm;
  Child<Block> child = layer;
  if (with_remat) child.options.remat = SaveNothing{};
  Child<Block> stack = Stacked::Config{.num_layers = 2, .layer = child};
  if (loop) stack = Repeat::Config{.num_layers = 2, .layer = child};
  Trainer::Config config = config_of(max_steps);
  config.model = tiny_model(stack);
  config.evalers.clear();
  return config;
}

size_t count(const std::string& text, std::string_view part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++n;
  return n;
}

class DebugPrint : public TrainerTest {};

TEST_F(DebugPrint, EachLayerOfALoopPrintsInEachStep) {
  for (const bool with_remat : {false, true}) {
    const Ended ended =
        train(config_with({}, 2, /*loop=*/true, with_remat), with_remat ? "remat" : "plain");
    EXPECT_EQ(ended.code, ExitCode::kOk) << ended.error;
    for (const int step : {1, 2}) {
      for (const int layer : {0, 1}) {
        EXPECT_THAT(ended.out,
                    ContainsRegex(fmt::format("step {}: model/decoder/layers/layer/attention/norm"
                                              "\\[{}\\]: largest [0-9.e-]+ of f32\\[8, 16, 16\\]",
                                              step, layer)));
      }
    }
    EXPECT_EQ(count(ended.out, ": largest "), 4u) << ended.out;
  }
}

TEST_F(DebugPrint, StackedLayersPrintUnderTheirOwnPaths) {
  const Ended ended = train(config_with({}, 1, /*loop=*/false));
  EXPECT_THAT(ended.out, HasSubstr("model/decoder/layers/layer0/attention/norm: largest "));
  EXPECT_THAT(ended.out, HasSubstr("model/decoder/layers/layer1/attention/norm: largest "));
}

TEST_F(DebugPrint, PrintsChangeNoNumber) {
  train(config_with({.prints = true}, 3, true), "prints");
  train(config_with({.prints = false}, 3, true), "silent");
  EXPECT_EQ(state_of(run("prints")).tensors, state_of(run("silent")).tensors);
}

TEST_F(DebugPrint, FindNanNamesAnOpOfTheBackwardPass) {
  const Ended ended = train(config_with({.prints = false, .overflows_backward = true}, 3, true),
                            "run", RunOptions{.dir = {}, .find_nan = true});
  EXPECT_EQ(ended.code, ExitCode::kValidationFailed);
  EXPECT_THAT(ended.out, ContainsRegex("step 1: the first (NaN|Inf) is made by [a-z]+ in "
                                       "model/decoder/layers/layer/attention/norm, iteration 1, "
                                       "in the backward pass"));
  EXPECT_THAT(ended.error, HasSubstr("step 1: expected finite numbers, got "));
}

TEST_F(DebugPrint, FindNanNamesAnOpOfTheUpdate) {
  Trainer::Config config = config_with({.prints = false}, 3, false);
  config.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->learning_rate =
      ConstantRate{.value = 1e38};
  config.learner.get_if<Learner>()->optimizer.get_if<AdamW>()->weight_decay = 1e4;
  const Ended ended = train(config, "run", RunOptions{.dir = {}, .find_nan = true});
  EXPECT_EQ(ended.code, ExitCode::kValidationFailed);
  EXPECT_THAT(ended.out, ContainsRegex("step 1: the first (NaN|Inf) is made by mul in learner"));
}

TEST_F(DebugPrint, AFiniteRunWithTheSearchEndsWithTheSameState) {
  const Trainer::Config config = config_with({.prints = false}, 3, true);
  EXPECT_EQ(train(config, "searched", RunOptions{.dir = {}, .find_nan = true}).code, ExitCode::kOk);
  EXPECT_EQ(train(config, "plain").code, ExitCode::kOk);
  EXPECT_EQ(state_of(run("searched")).tensors, state_of(run("plain")).tensors);
}

}  // namespace
}  // namespace axle
