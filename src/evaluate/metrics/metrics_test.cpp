// Tests metrics, their aggregations and the filters of answers.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "evaluate/metrics/metric.h"
#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// random.Random(1234) of CPython 3.11.
TEST(PythonRandom, DrawsAsPython) {
  PythonRandom random(1234);
  EXPECT_EQ(random.next(), 0.9664535356921388);
  EXPECT_EQ(random.next(), 0.4407325991753527);
  PythonRandom sampled(1234);
  EXPECT_THAT(sampled.sample(5, 2), ElementsAre(3, 0));
  EXPECT_THAT(sampled.sample(5, 2), ElementsAre(0, 4));
  EXPECT_THAT(sampled.sample(5, 2), ElementsAre(4, 0));
  EXPECT_THAT(sampled.sample(1000, 7), ElementsAre(687, 709, 85, 100, 784, 363, 242));
  EXPECT_THAT(sampled.sample(30, 3), ElementsAre(0, 25, 11));
  PythonRandom zero(0);
  EXPECT_EQ(zero.next(), 0.8444218515250481);
  std::vector<size_t> drawn;
  for (int i = 0; i < 5; ++i) drawn.push_back(zero.below(10));
  EXPECT_THAT(drawn, ElementsAre(6, 0, 4, 8, 7));
}

double value_of(const char* name, const std::vector<DocumentScore>& scores) {
  return aggregation_named(name).value(scores);
}

TEST(Aggregation, ComputesMeansPerplexitiesAndErrors) {
  const std::vector<DocumentScore> scores = {{1, 2}, {0, 3}, {2, 5}};
  EXPECT_DOUBLE_EQ(value_of("mean", scores), 1);
  EXPECT_DOUBLE_EQ(value_of("median", scores), 1);
  EXPECT_DOUBLE_EQ(value_of("perplexity", scores), std::exp(-1));
  EXPECT_DOUBLE_EQ(value_of("weighted_perplexity", scores), std::exp(-0.3));
  EXPECT_DOUBLE_EQ(value_of("bits_per_byte", scores), -0.3 / std::log(2.0));
  EXPECT_DOUBLE_EQ(aggregation_named("mean").standard_error(scores), 1 / std::sqrt(3.0));
  EXPECT_THAT(error_of<Error>([] { aggregation_named("meen"); }), HasSubstr("'mean'"));
}

double score_of(const char* name, OutputType type, const AnswerFacts& facts) {
  const MetricConfig metric = metric_named(name, type);
  return metric.row->score(facts, metric).value;
}

TEST(Metric, ScoresChoices) {
  constexpr auto kType = OutputType::kMultipleChoice;
  AnswerFacts facts{.log_likelihoods = {-3, -4, -5, -1, -4, -4.5},
                    .is_greedy = {false, false, true, false, false, false},
                    .choices = {"a", "bb", "éé"},
                    .gold = {2}};
  EXPECT_EQ(score_of("acc", kType, facts), 0);
  EXPECT_EQ(score_of("acc_norm", kType, facts), 0);   // -3, -2, -2.5
  EXPECT_EQ(score_of("acc_bytes", kType, facts), 1);  // -3, -2, -1.25
  EXPECT_EQ(score_of("acc_mutual_info", kType, facts), 0);
  EXPECT_EQ(score_of("exact_match", kType, facts), 1);
  facts.gold = {0, 1};
  EXPECT_EQ(score_of("acc", kType, facts), 1);
  EXPECT_EQ(score_of("acc_norm", kType, facts), 1);
  EXPECT_EQ(score_of("exact_match", kType, facts), 0);
  facts = {.log_likelihoods = {std::log(0.25), std::log(0.75)}, .choices = {"a", "b"}, .gold = {1}};
  EXPECT_NEAR(score_of("brier_score", kType, facts), 0.125, 1e-12);
  EXPECT_THAT(error_of<Error>([] { metric_named("bleu", kType); }),
              HasSubstr("expected a metric of multiple_choice (acc, "));
}

TEST(Metric, WeighsTextsByWordsOrBytes) {
  const AnswerFacts facts{.log_likelihoods = {-6}, .text = " two  wörds\n"};
  const MetricConfig words = metric_named("word_perplexity", OutputType::kRolling);
  EXPECT_EQ(words.row->score(facts, words).weight, 4);  // also the empty ones at the ends
  const MetricConfig bytes = metric_named("bits_per_byte", OutputType::kRolling);
  EXPECT_EQ(bytes.row->score(facts, bytes).weight, 13);
  EXPECT_EQ(bytes.row->score(facts, bytes).value, -6);
}

TEST(ExactMatch, LeavesOutWhatIsIgnored) {
  EXPECT_FALSE(is_exact_match("The End.", "the end", {}));
  EXPECT_TRUE(
      is_exact_match("The End.", "the end", {.ignore_case = true, .ignore_punctuation = true}));
  EXPECT_TRUE(is_exact_match("a1b", "ab2", {.ignore_numbers = true}));
  ExactMatchOptions options;
  options.regexes_to_ignore.emplace_back("\\b(a|the)\\s", RegexSyntax::kPython);
  EXPECT_TRUE(is_exact_match("the cat", "a cat", options));
}

std::string filtered(const char* config, const std::string& answer) {
  return make_filter(nlohmann::ordered_json::parse(config))(answer);
}

TEST(Filter, TakesPartsOfAnswers) {
  EXPECT_EQ(filtered(R"({"function": "regex"})", "so #### -1,234. Yes"), "-1,234.");
  EXPECT_EQ(filtered(R"({"function": "regex"})", "none"), "[invalid]");
  const char* const last =
      R"j({"function": "regex", "regex_pattern": "([0-9]+)|([a-z])", "group_select": "-1"})j";
  EXPECT_EQ(filtered(last, "12 b 34 c"), "c");
  EXPECT_EQ(filtered(last, "12 b 34"), "34");
  const char* const ninth = R"({"function": "regex", "regex_pattern": "a", "group_select": "9"})";
  EXPECT_EQ(filtered(ninth, "a"), "[invalid]");
  EXPECT_EQ(filtered(R"({"function": "remove_whitespace"})", " a b\n"), "a b");
  EXPECT_EQ(filtered(R"({"function": "lowercase"})", "ÄB"), "äb");
  EXPECT_EQ(filtered(R"({"function": "uppercase"})", "äb"), "ÄB");
  const char* const map =
      R"({"function": "map", "mapping_dict": {"a": "1"}, "default_value": "0"})";
  EXPECT_EQ(filtered(map, "a"), "1");
  EXPECT_EQ(filtered(map, "b"), "0");
}

TEST(Filter, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(error_of<Error>([] { filtered(R"({"function": "regexx"})", ""); }),
              HasSubstr("did you mean 'regex'?"));
  EXPECT_THAT(error_of<Error>([] { filtered(R"({"function": "lowercase", "a": "1"})", ""); }),
              HasSubstr("a: expected an argument of the filter lowercase"));
  EXPECT_THAT(
      error_of<Error>([] { filtered(R"({"function": "regex", "regex_pattern": "("})", ""); }),
      HasSubstr("expected a regular expression"));
}

}  // namespace
}  // namespace axle
