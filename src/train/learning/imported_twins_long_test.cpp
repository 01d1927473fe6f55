// The tiny models of transformers in testdata, one or more of each family: imported, they are
// trained in all parameters on a task that they do not know, beside other text.
#include <algorithm>
#include <array>
#include <numeric>

#include "interop/hugging_face.h"
#include "interop/reference_models_test.h"
#include "testing/test_name.h"
#include "train/learning/learning_tasks_test.h"

namespace axle {
namespace {

// A question is a mark and symbols. Its answer has a form of its own: a mark, the value of each
// symbol, and an end.
constexpr size_t kNumAsked = 3, kAnswerTokens = kNumAsked + 1;
constexpr int64_t kRowTokens = 2 * kNumAsked + 2;
constexpr auto kQuestion = static_cast<int32_t>(kNumSymbols), kAnswer = kQuestion + 1,
               kEnd = kQuestion + 2, kFirstOther = kQuestion + 4;

using Question = std::array<int32_t, kNumAsked>;

// A fifth of all questions is never learned from.
bool is_held_out(const Question& q) { return std::accumulate(q.begin(), q.end(), 0) % 5 == 0; }

void fill_question(const RowView& row, bool held_out, SplitMix64& random) {
  Question asked;
  do
    for (int32_t& symbol : asked) symbol = detail::symbol(random);
  while (is_held_out(asked) != held_out);
  row.input_ids[0] = kQuestion;
  row.input_ids[kNumAsked + 1] = kAnswer;
  row.target_labels.back() = kEnd;
  for (size_t i = 0; i < kNumAsked; ++i) {
    row.input_ids[1 + i] = asked[i];
    row.target_labels[kNumAsked + 1 + i] = (5 * asked[i] + 3) % static_cast<int32_t>(kNumSymbols);
    row.input_ids[kNumAsked + 2 + i] = row.target_labels[kNumAsked + 1 + i];
  }
}

// Text of other tokens, none of which tells the next.
void fill_other_text(const RowView& row, SplitMix64& random) {
  const auto draw = [&] {
    return kFirstOther + static_cast<int32_t>(random.below(kTaskVocabulary - kFirstOther));
  };
  std::ranges::generate(row.input_ids, draw);
  std::copy(row.input_ids.begin() + 1, row.input_ids.end(), row.target_labels.begin());
  row.target_labels.back() = draw();
}

enum class Rows { kLearned, kHeldOutQuestions, kOtherText };

// Rows of a question or of other text. Every fourth learned row is other text.
Tree<HostTensor> rows_of(Rows kind, SplitMix64& random) {
  Batch batch = make_batch(kTaskRows, kRowTokens);
  for (int64_t i = 0; i < kTaskRows; ++i) {
    const RowView row = row_of(batch, i);
    if (kind == Rows::kOtherText || (kind == Rows::kLearned && i % 4 == 0))
      fill_other_text(row, random);
    else
      fill_question(row, kind == Rows::kHeldOutQuestions, random);
    std::ranges::fill(row.input_segment_ids, 1);
    std::iota(row.input_positions.begin(), row.input_positions.end(), 0);
  }
  return std::move(batch.tensors);
}

struct Measured {
  double exact_answers;  // at least this share of them
  double text_loss;
};

class ImportedTwins : public LearningTest, public ::testing::WithParamInterface<std::string> {
 protected:
  static constexpr int kNumSteps = 800;

  StepRun run_of(ImportedModel twin) {
    const Learner::Config learner{.optimizer =
                                      AdamW::Config{.learning_rate = falling_rate(kNumSteps)}};
    StepRun run(*runtime_, {.model = std::move(twin.model),
                            .learner = learner,
                            .batch = batch_spec(kTaskRows, kRowTokens)});
    Tree<HostTensor> state = run.initial_state(1);
    for (auto& [path, value] : twin.parameters) state.at("model/" + path) = std::move(value);
    for (auto& [path, value] : twin.layer_state)
      state.at(std::string(kLayerStatePath) + "/" + path) = std::move(value);
    run.set_state(state);
    return run;
  }
  // Metrics are those before a step's update, which is taken back.
  static Measured measured(StepRun& run) {
    const Tree<HostTensor> state = run.state();
    SplitMix64 random(11);
    const auto metric = [&](Rows kind, const char* name) {
      const double value = run.step(rows_of(kind, random)).at(name);
      run.set_state(state);
      return value;
    };
    const double wrong_tokens = 1 - metric(Rows::kHeldOutQuestions, "accuracy");
    return {.exact_answers = 1 - kAnswerTokens * wrong_tokens,
            .text_loss = metric(Rows::kOtherText, "cross_entropy")};
  }
};

TEST_P(ImportedTwins, AnswerQuestionsThatTheyDidNotLearnFrom) {
  ImportedModel twin = read_hugging_face(reference_file("hugging_face/" + GetParam()));
  take_texts_of(kRowTokens, twin);
  StepRun run = run_of(std::move(twin));
  const Measured before = measured(run);
  EXPECT_LT(before.exact_answers, 0.2);
  SplitMix64 random(7);
  for (int i = 0; i < kNumSteps; ++i) run.step(rows_of(Rows::kLearned, random));
  const Measured after = measured(run);
  EXPECT_GE(after.exact_answers, 0.95);
  EXPECT_LT(after.text_loss, 1.05 * before.text_loss);
}

INSTANTIATE_TEST_SUITE_P(Models, ImportedTwins, ::testing::ValuesIn(reference_models()),
                         [](const auto& at) { return test_name(at.param); });

}  // namespace
}  // namespace axle
