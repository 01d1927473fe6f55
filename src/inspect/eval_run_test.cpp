// Evaluations of models that are no runs.
#include "inspect/eval_run.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "io/file.h"
#include "testing/checkout.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

class EvalOfAModel : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy(reference_file("lm_eval/named"), model_);
    std::string config = read_file(model_ / "config.json");
    const std::string context = "\"max_position_embeddings\": 96";
    const size_t at = config.find(context);
    ASSERT_NE(at, config.npos);
    replace_file(model_ / "config.json",
                 config.replace(at, context.size(), "\"max_position_embeddings\": 1024"));
  }
  RunEvaluation evaluate(const std::string& name, const std::string& text,
                         const std::vector<Edit>& edits = {}) const {
    const std::string data = dir_ / name;
    replace_file(data, text);
    return evaluate_run(
        {.dir = {model_}, .data = {data}, .edits = edits, .backend = "interpreter"});
  }

  TempDir dir_;
  const std::filesystem::path model_ = dir_ / "model";
};

// Each is a segment of its own, for any length of its row.
TEST_F(EvalOfAModel, RowsOfConversationsAreNoLongerThanNeeded) {
  std::string talks;
  for (int i = 0; i < 12; ++i) {
    talks += R"({"messages":[{"role":"user","content":"What falls from clouds?"},)"
             R"({"role":"assistant","content":"Rain )" +
             std::to_string(i) + "\"}]}\n";
  }
  const RunEvaluation whole = evaluate(
      "talks.jsonl", talks, {SetField{"input.seq_len", "1024"}, SetField{"input.batch_size", "1"}});
  const RunEvaluation fitted = evaluate("talks.jsonl", talks);
  EXPECT_LT(whole.facts.num_rows, fitted.facts.num_rows);
  EXPECT_EQ(fitted.facts.num_batches, 1);
  EXPECT_EQ(fitted.result.num_targets, whole.result.num_targets);
  EXPECT_EQ(fitted.result.num_bytes, whole.result.num_bytes);
  for (const auto& [name, value] : whole.result.metrics)
    EXPECT_NEAR(fitted.result.metrics.at(name), value, 1e-5) << name;
  const RunEvaluation set = evaluate("talks.jsonl", talks, {SetField{"input.batch_size", "1"}});
  EXPECT_EQ(set.facts.num_rows, fitted.facts.num_rows);
  EXPECT_EQ(set.facts.num_batches, fitted.facts.num_rows);
}

TEST_F(EvalOfAModel, RowsOfTextsHaveTheWholeContext) {
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += "What falls from clouds is rain.\n";
  const std::vector<Edit> one = {SetField{"input.batch_size", "1"}};
  std::vector<Edit> all = one;
  all.push_back(SetField{"input.seq_len", "1024"});
  EXPECT_EQ(evaluate("lines.txt", lines, one).facts.num_rows,
            evaluate("lines.txt", lines, all).facts.num_rows);
}

}  // namespace
}  // namespace axle
