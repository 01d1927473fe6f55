// Each small twin of a recipe family trains on text, evaluates and generates.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "cli/run_test.h"
#include "config/walk.h"
#include "data/text_input.h"
#include "layers/attention/cores/scored_core.h"
#include "recipes/recipe.h"
#include "testing/needs_plugin.h"
#include "testing/test_name.h"

namespace axle {
namespace {

std::vector<std::string> twin_names() {
  std::vector<std::string> out;
  for (const std::string& name : recipe_names()) {
    if (name.find("-test") != name.npos) out.push_back(name);
  }
  return out;
}

// Returns the loss of each step in metrics.jsonl; lines of evaluations have no gradients.
std::vector<double> losses_of_run(const std::string& dir) {
  std::vector<double> out;
  const std::string text = read_file(dir + "/metrics.jsonl");
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    const auto json = nlohmann::json::parse(line);
    if (json.contains("grad_norm")) out.push_back(json["loss"]);
  }
  return out;
}

class Twins : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { AXLE_NEEDS_PLUGIN("cpu"); }
  // The recipes of text by SentencePiece name no tokenizer, and warm up for thousands of steps:
  // here they learn bytes at once.
  Arguments bytes_at_once() const {
    const auto* const text = recipe(GetParam()).input.get_if<TextInput>();
    if (!text || text->tokenizer) return {};
    return {"--set", "input.tokenizer=ByteTokenizer",
            "--set", "evalers.held_out.input.tokenizer=ByteTokenizer",
            "--set", "model.decoder.vocab_size=264",
            "--set", "learner.optimizer={class: AdamW, learning_rate: 0.003}"};
  }
  TempDir dir_;
};

TEST_P(Twins, Train) {
  const std::string text = text_file(dir_);
  const Ran trained =
      run_axle(joined({"train", GetParam(), "--data", text, "--steps", "60", "--mesh", "", "--dir",
                       dir_ / "run", "--set", "log_every_steps=1"},
                      bytes_at_once()));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const std::vector<double> losses = losses_of_run(dir_ / "run");
  ASSERT_EQ(losses.size(), 60u);
  EXPECT_LT(losses.back(), 0.8 * losses.front());
  const Ran evaluated = run_axle({"eval", "--from", dir_ / "run", "--data", text, "--json"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_LT(nlohmann::json::parse(evaluated.out)["metrics"]["loss"], 0.8 * losses.front());
  const Ran generated =
      run_axle({"generate", "--from", dir_ / "run", "--prompt", "the quick", "--max-tokens", "8"});
  EXPECT_EQ(generated.code, 0) << generated.err;
  EXPECT_THAT(generated.out, ::testing::StartsWith("the quick"));
}

bool has_attention_blocks(Trainer::Config config) {
  bool out = false;
  walk(config, [&](const std::string&, const Slot& slot) {
    out |= slot.ops->kind == FieldKind::kStruct && *slot.ops->type == typeid(AttentionBlocks);
  });
  return out;
}

// In f32 both forms have the same curve but for rounding.
TEST_P(Twins, TrainByBlocksOfAttentionAsAtOnce) {
  if (!has_attention_blocks(recipe(GetParam()))) GTEST_SKIP() << "no attention has scores";
  constexpr size_t kSteps = 15;  // later, small differences grow by themselves
  const std::string text = text_file(dir_);
  Arguments more = bytes_at_once();
  if (!more.empty()) more.insert(more.end(), {"--set", "learner.optimizer.learning_rate=0.0003"});
  const auto losses = [&](const std::string& dir, const std::string& blocks) {
    const Ran trained = run_axle(joined(
        {"train", GetParam(), "--data", text, "--steps", std::to_string(kSteps), "--mesh", "",
         "--dir", dir_ / dir, "--set", "log_every_steps=1", "--set", "compute_dtype=none",
         "--modify", "SetWhere: {select: AttentionCore, set: {blocks: '" + blocks + "'}}"},
        more));
    EXPECT_EQ(trained.code, 0) << trained.err;
    const Ran graph = run_axle(
        {"graph", "--config", (std::filesystem::path(dir_ / dir) / "config.yaml").string()});
    EXPECT_EQ(graph.out.find("by blocks: ") != std::string::npos, dir == "by_blocks") << graph.err;
    return losses_of_run(dir_ / dir);
  };
  const std::vector<double> at_once = losses("at_once", "{from: none}"),
                            by_blocks = losses("by_blocks", "{from: 1, queries: 16, keys: 16}");
  ASSERT_EQ(at_once.size(), kSteps);
  ASSERT_EQ(by_blocks.size(), kSteps);
  EXPECT_LT(at_once.back(), at_once.front());
  double largest = 0;
  for (size_t i = 0; i < kSteps; ++i)
    largest = std::max(largest, std::abs(by_blocks[i] - at_once[i]) / at_once[i]);
  EXPECT_LT(largest, 1e-5);
  std::cout << "largest difference of a loss: " << largest << '\n';
}

INSTANTIATE_TEST_SUITE_P(Recipes, Twins, ::testing::ValuesIn(twin_names()), kNamedByText);

}  // namespace
}  // namespace axle
