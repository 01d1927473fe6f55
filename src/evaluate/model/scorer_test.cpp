#include "evaluate/model/scorer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "infer/generator.h"
#include "interop/tiny_model_test.h"
#include "pjrt/make_runtime.h"
#include "testing/error_of.h"

namespace axle {
namespace {

class Scores : public ::testing::Test {
 protected:
  std::vector<RowScore> scores(std::span<const ScoredRow> rows, Scorer::Options options = {}) {
    Scorer scorer({.model = *tiny_.model}, *runtime_, std::move(options));
    const Arrays parameters = decode_arrays(*tiny_.model, tiny_.parameters, *runtime_, {}, {});
    return scorer.score(rows, parameters).value();
  }
  TinyModel tiny_ = random_model(Stacked::Config{.num_layers = 2, .layer = tiny_layer()});
  std::unique_ptr<Runtime> runtime_ = make_runtime({.backend = "interpreter"});
};

// Rows of all lengths and numbers of targets.
std::vector<ScoredRow> many_rows() {
  std::vector<ScoredRow> out;
  for (int32_t len = 1; len < 40; len += 3) {
    std::vector<int32_t> ids;
    for (int32_t i = 0; i <= len; ++i) ids.push_back((7 * i * i + len) % 31);
    const int32_t count = 1 + len * 5 % len % 20;
    out.push_back({{ids.begin(), ids.end() - 1}, {ids.end() - count, ids.end()}});
  }
  return out;
}

TEST_F(Scores, DoNotDependOnTheBatch) {
  const std::vector<ScoredRow> rows = many_rows();
  const std::vector<RowScore> together = scores(rows), few = scores(rows, {.batch_tokens = 64}),
                              narrow = scores(rows, {.batch_logits = 400});
  for (size_t i = 0; i < rows.size(); ++i) {
    const RowScore alone = scores(std::span(&rows[i], 1))[0];
    for (const auto& other : {together, few, narrow}) {
      EXPECT_NEAR(other[i].log_likelihood, alone.log_likelihood, 2e-4) << i;
      EXPECT_EQ(other[i].is_greedy, alone.is_greedy) << i;
    }
    EXPECT_LT(alone.log_likelihood, 0);
  }
}

// The likelihood of several tokens is that of each after those before it.
TEST_F(Scores, AddUpOverTheTargets) {
  const ScoredRow whole{{3, 1, 4, 1, 5}, {1, 5, 9}};
  std::vector<ScoredRow> steps;
  for (size_t n = 3; n <= 5; ++n) {
    const auto end = whole.inputs.begin() + static_cast<std::ptrdiff_t>(n);
    steps.push_back({{whole.inputs.begin(), end}, {whole.targets[n - 3]}});
  }
  double sum = 0;
  for (const RowScore& step : scores(steps)) sum += step.log_likelihood;
  EXPECT_NEAR(scores(std::span(&whole, 1))[0].log_likelihood, sum, 1e-4);
}

TEST_F(Scores, ProbabilitiesOfAllTokensSumToOneAndOneIsGreedy) {
  std::vector<ScoredRow> rows;
  for (int32_t id = 0; id < 31; ++id) rows.push_back({{5, 8, 2}, {id}});
  double sum = 0;
  int num_greedy = 0;
  for (const RowScore& score : scores(rows)) {
    sum += std::exp(score.log_likelihood);
    num_greedy += score.is_greedy;
  }
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_EQ(num_greedy, 1);
}

TEST_F(Scores, TokensThatTheModelLacksAreRefused) {
  const ScoredRow row{{1}, {31}};
  EXPECT_EQ(error_of<DataError>([&] { scores(std::span(&row, 1)); }),
            "expected tokens of the model's vocabulary of 31, got id 31");
}

}  // namespace
}  // namespace axle
