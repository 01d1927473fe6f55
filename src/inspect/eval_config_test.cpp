#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "config/serialize.h"
#include "data/chat/chat_input.h"
#include "data/token_files/token_input.h"
#include "inspect/eval_run.h"
#include "io/file.h"
#include "recipes/recipe.h"
#include "testing/temp_dir.h"

namespace axle {
namespace {

// The edits of an evaluation are of the sources that its own --data name.
TEST(ResolveEvaluation, EditsApplyToTheSourcesOfAMixture) {
  const TempDir dir;
  replace_file(dir / "a.jsonl", "{\"body\":\"text\"}\n");
  replace_file(dir / "b.txt", "text");
  const ModelConfig run{to_json(recipe("quickstart")), "config.yaml"};
  const Resolved out =
      resolve_evaluation(run, {(dir / "a.jsonl") + "=0.5", {(dir / "b.txt") + "=0.5"}},
                         {SetField{"input.sources.a.field", "body"}});
  const auto* const input = out.config.input.get_if<TokenInput>();
  ASSERT_NE(input, nullptr);
  EXPECT_EQ(input->split, Split::kAll);
  EXPECT_EQ(input->sources.size(), 2u);
  EXPECT_EQ(*input->sources.at("a").path, dir / "a.jsonl");
  EXPECT_EQ(input->sources.at("a").field, "body");
}

// The input of conversations after fit_rows, of an evaluation whose rows nobody has set.
ChatInput::Config fitted(const InputFacts& facts, int64_t num_devices = 1, bool fits = true) {
  ResolvedEvaluation evaluation;
  evaluation.fits_seq_len = evaluation.fits_batch_size = fits;
  evaluation.config.input = ChatInput::Config{.seq_len = 8192, .batch_size = 8};
  fit_rows(evaluation, facts, num_devices);
  return *evaluation.config.input.get_if<ChatInput>();
}

TEST(FitRows, SizeFollowsTheLengthAndNumberOfConversations) {
  const InputFacts few{.num_tokens = 1400, .num_rows = 1, .longest = 60};
  EXPECT_EQ(fitted(few).seq_len, 512);
  EXPECT_EQ(fitted(few).batch_size, 3);
  EXPECT_EQ(fitted(few, 2).batch_size, 4);  // the devices share them
  EXPECT_EQ(fitted(few, 16).batch_size, 8);
  const InputFacts many{.num_tokens = 90'000, .num_rows = 12, .longest = 600};
  EXPECT_EQ(fitted(many).seq_len, 640);
  EXPECT_EQ(fitted(many).batch_size, 8);
  EXPECT_EQ(fitted({.num_tokens = 9000, .num_rows = 2, .longest = 8190}).seq_len, 8192);
}

TEST(FitRows, ChosenAndUnknownSizesStay) {
  const InputFacts few{.num_tokens = 1400, .num_rows = 1, .longest = 60};
  EXPECT_EQ(fitted(few, 1, false).seq_len, 8192);
  EXPECT_EQ(fitted(few, 1, false).batch_size, 8);
  EXPECT_EQ(fitted({.num_tokens = 1400, .num_rows = 1}).seq_len, 8192);
}

// A pair fills a row.
TEST(FitRows, RowsHoldOnePairEach) {
  ResolvedEvaluation evaluation;
  evaluation.fits_seq_len = evaluation.fits_batch_size = true;
  evaluation.config.input = PreferenceInput::Config{.seq_len = 8192, .batch_size = 8};
  EXPECT_TRUE(fit_rows(evaluation, {.num_tokens = 500, .num_rows = 5, .longest = 130}, 1));
  const auto& input = *evaluation.config.input.get_if<PreferenceInput>();
  EXPECT_EQ(input.seq_len, 256);
  EXPECT_EQ(input.batch_size, 5);
}

}  // namespace
}  // namespace axle
