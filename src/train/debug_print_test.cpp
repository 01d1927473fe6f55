// Tests what layers print with debug_print while they are trained, and the search for the op that
// makes the first non-finite number of a step.
#include <fmt/format.h>

#include <regex>

#include "base/text/text.h"
#include "layers/blocks/stack.h"
#include "layers/norms/norm.h"
#include "nn/remat_policies.h"
#include "ops/ops.h"
#include "testing/needs_plugin.h"
#include "train/trainer_run_test.h"

namespace axle {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

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

// Lines of a run's output, and the numbers in them.
struct Printed {
  std::string text;
  std::vector<double> numbers;
};

Printed report_of(const std::string& out, const std::regex& lines) {
  static const std::regex number("-?[0-9]+(\\.[0-9]+)?(e[-+][0-9]+)?");
  Printed report;
  for (const std::string_view view : split(out, '\n')) {
    const std::string line(view);
    if (!std::regex_search(line, lines)) continue;
    for (std::sregex_iterator it(line.begin(), line.end(), number), end; it != end; ++it)
      report.numbers.push_back(std::stod(it->str()));
    report.text += std::regex_replace(line, number, "N") + "\n";
  }
  return report;
}

// Sums in another order differ in their last bits.
void expect_same_report(const Printed& actual, const Printed& expected, const std::string& where) {
  EXPECT_EQ(actual.text, expected.text) << where;
  ASSERT_EQ(actual.numbers.size(), expected.numbers.size()) << where;
  for (size_t i = 0; i < actual.numbers.size(); ++i) {
    EXPECT_NEAR(actual.numbers[i], expected.numbers[i], 1e-3 * std::abs(expected.numbers[i]) + 1e-4)
        << where << ", number " << i << "\n"
        << expected.text;
  }
}

class DebugPrint : public TrainerTest {
 protected:
  // Returns what a run on a mesh prints of its values.
  Printed printed(Trainer::Config config, const std::string& mesh, bool find_nan) {
    from_text(mesh, config.mesh);
    backend_ = "cpu";
    const Ended ended = train(config, "on " + mesh, RunOptions{.dir = {}, .find_nan = find_nan});
    EXPECT_EQ(ended.code, find_nan ? ExitCode::kValidationFailed : ExitCode::kOk) << ended.error;
    return report_of(ended.out,
                     std::regex(find_nan ? ": the first |^  (operand|result)" : ": largest "));
  }
};

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

using WeeklyDebugPrint = DebugPrint;

// Values are printed and measured as whole tensors, with the indices of whole tensors.
TEST_F(WeeklyDebugPrint, ShardedTensorsAreToldAsOnOneDevice) {
  AXLE_NEEDS_PLUGIN("cpu");
  const Trainer::Config printing = config_with({}, 2, true),
                        overflowing =
                            config_with({.prints = false, .overflows_backward = true}, 3, true);
  const Printed prints = printed(printing, "", false);
  EXPECT_EQ(count(prints.text, "of fN[N, N, N]"), 4u) << prints.text;
  remove_tree(run("on "));
  const Printed found = printed(overflowing, "", true);
  EXPECT_THAT(found.text, HasSubstr("the first at [N, N, N]"));
  const std::string mesh = "fsdp=2,model=4";
  expect_same_report(printed(printing, mesh, false), prints, mesh);
  remove_tree(run("on " + mesh));
  expect_same_report(printed(overflowing, mesh, true), found, mesh);
}

TEST_F(DebugPrint, AFiniteRunWithTheSearchEndsWithTheSameState) {
  const Trainer::Config config = config_with({.prints = false}, 3, true);
  EXPECT_EQ(train(config, "searched", RunOptions{.dir = {}, .find_nan = true}).code, ExitCode::kOk);
  EXPECT_EQ(train(config, "plain").code, ExitCode::kOk);
  EXPECT_EQ(state_of(run("searched")).tensors, state_of(run("plain")).tensors);
}

}  // namespace
}  // namespace axle
