#include "infer/decode_programs.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "testing/error_of.h"
#include "testing/op_test.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::run;

constexpr int64_t kDraws = 20000;

// Returns how often each token is drawn from these logits.
std::vector<double> shares(const std::vector<float>& logits, const Sampling& sampling,
                           int64_t seed = 0) {
  const auto vocab_size = std::ssize(logits);
  const HostTensor tokens = run(
      [&](const Values& x) {
        return sample(broadcast_to(x[0], {kDraws, vocab_size}), random::Key::wrap(x[1]), sampling);
      },
      {HostTensor({vocab_size}, std::span<const float>(logits)), random::key_words(seed)});
  std::vector<double> out(logits.size());
  for (const int32_t token : tokens.values<int32_t>()) out.at(static_cast<size_t>(token)) += 1;
  for (double& share : out) share /= kDraws;
  return out;
}

// Expects each share within five standard deviations of its probability.
void expect_shares(const std::vector<double>& got, const std::vector<double>& probabilities) {
  ASSERT_EQ(got.size(), probabilities.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const double p = probabilities[i];
    if (p == 0) {
      EXPECT_EQ(got[i], 0) << "token " << i;
    } else {
      EXPECT_NEAR(got[i], p, 5 * std::sqrt(p * (1 - p) / kDraws)) << "token " << i;
    }
  }
}

std::vector<float> logs(const std::vector<double>& probabilities) {
  std::vector<float> out;
  for (const double p : probabilities)
    out.push_back(static_cast<float>(std::log(p) + 3));  // softmax ignores the 3
  return out;
}

const std::vector<double> kSkewed = {0.1, 0.4, 0.2, 0.3};

TEST(Sampling, GreedyTakesTheFirstOfTheLargestAndNeedsNoKey) {
  const HostTensor logits({2, 3}, {1.0f, 7.0f, 7.0f, -1.0f, -2.0f, -3.0f});
  const HostTensor tokens = run([](const Values& x) { return sample(x[0], {}, {}); }, {logits});
  EXPECT_EQ(tokens, HostTensor({2}, {1, 0}));
}

TEST(Sampling, GreedyIgnoresTopKAndTopP) {
  EXPECT_THAT(shares(logs(kSkewed), {.temperature = 0, .top_k = 3, .top_p = 0.9}),
              ElementsAre(0, 1, 0, 0));
}

TEST(Sampling, TemperatureOneDrawsByTheProbabilities) {
  expect_shares(shares(logs(kSkewed), {.temperature = 1}), kSkewed);
}

TEST(Sampling, TemperatureDividesTheLogits) {
  const double z = 0.01 + 0.16 + 0.04 + 0.09;  // T = 1/2 squares the probabilities
  expect_shares(shares(logs(kSkewed), {.temperature = 0.5}),
                {0.01 / z, 0.16 / z, 0.04 / z, 0.09 / z});
}

TEST(Sampling, TinyTemperatureIsGreedyAndNotNaN) {
  expect_shares(shares({50, 90, 89.9f, -90}, {.temperature = 1e-30}), {0, 1, 0, 0});
}

TEST(Sampling, AHugeTemperatureMakesAllEqual) {
  expect_shares(shares({5, 1, -3, 2}, {.temperature = 1e300}), {0.25, 0.25, 0.25, 0.25});
}

TEST(Sampling, TopKDrawsFromTheKLargest) {
  expect_shares(shares(logs(kSkewed), {.temperature = 1, .top_k = 2}), {0, 4.0 / 7, 0, 3.0 / 7});
}

TEST(Sampling, TopKOfEqualLogitsKeepsTheFirst) {
  expect_shares(shares({1, 1, 1, 1}, {.temperature = 1, .top_k = 3}),
                {1.0 / 3, 1.0 / 3, 1.0 / 3, 0});
}

TEST(Sampling, TopKBeyondTheVocabularyKeepsAll) {
  expect_shares(shares(logs(kSkewed), {.temperature = 1, .top_k = 1000}), kSkewed);
}

// Four equal tokens have the exact probability 1/4 each.
TEST(Sampling, TopPKeepsTheFewestThatReachIt) {
  expect_shares(shares({2, 2, 2, 2}, {.temperature = 1, .top_p = 0.5}), {0.5, 0.5, 0, 0});
  expect_shares(shares({2, 2, 2, 2}, {.temperature = 1, .top_p = 0.5001}),
                {1.0 / 3, 1.0 / 3, 1.0 / 3, 0});
  expect_shares(shares({2, 2, 2, 2}, {.temperature = 1, .top_p = 0.25}), {1, 0, 0, 0});
}

TEST(Sampling, TopPKeepsTheBestTokenHoweverSmallItIs) {
  for (const double top_p : {1e-9, 1e-300})
    expect_shares(shares(logs(kSkewed), {.temperature = 1, .top_p = top_p}), {0, 1, 0, 0});
}

TEST(Sampling, TopPOfOneKeepsAll) {
  expect_shares(shares(logs(kSkewed), {.temperature = 1, .top_p = 1}), kSkewed);
}

TEST(Sampling, TopPCountsAfterTemperatureAndTopK) {
  // Among the top three (4 : 3 : 2), the first two have 7/9 > 0.75; among all four, they would have
  // only 0.7.
  expect_shares(shares(logs(kSkewed), {.temperature = 1, .top_k = 3, .top_p = 0.75}),
                {0, 4.0 / 7, 0, 3.0 / 7});
  // Squared, the probabilities are 16 : 9 : 4 : 1 of 30: the first alone has more than half.
  expect_shares(shares(logs(kSkewed), {.temperature = 0.5, .top_p = 0.52}), {0, 1, 0, 0});
}

TEST(Sampling, RowsAreDrawnEachFromItsOwnLogits) {
  const HostTensor logits({2, 2}, {0.0f, -1e9f, -1e9f, 0.0f});
  const HostTensor tokens = run(
      [](const Values& x) {
        return sample(x[0], random::Key::wrap(x[1]), {.temperature = 1, .top_k = 2});
      },
      {logits, random::key_words(3)});
  EXPECT_EQ(tokens, HostTensor({2}, {0, 1}));
}

TEST(Sampling, SeedDecides) {
  const auto draw = [](int64_t seed) {
    return run(
        [](const Values& x) {
          return sample(broadcast_to(x[0], {64, 4}), random::Key::wrap(x[1]), {.temperature = 1});
        },
        {HostTensor({4}, {0.0f, 0.0f, 0.0f, 0.0f}), random::key_words(seed)});
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Sampling, BadSettingsAreNamed) {
  const auto message = [](const Sampling& sampling) { return error_of([&] { check(sampling); }); };
  EXPECT_EQ(message({.temperature = -1}), "temperature: expected 0 or a positive number, got -1");
  EXPECT_THAT(message({.temperature = std::nan("")}), HasSubstr("temperature"));
  EXPECT_THAT(message({.temperature = std::numeric_limits<double>::infinity()}),
              HasSubstr("temperature"));
  EXPECT_EQ(message({.temperature = 1e-31}),
            "temperature: expected 0 or at least 1e-30, got 1e-31");
  EXPECT_EQ(message({.top_k = 0}), "top_k: expected at least 1, got 0");
  EXPECT_EQ(message({.top_k = -5}), "top_k: expected at least 1, got -5");
  EXPECT_EQ(message({.top_p = 0}), "top_p: expected more than 0 and at most 1, got 0");
  EXPECT_EQ(message({.top_p = 1.5}), "top_p: expected more than 0 and at most 1, got 1.5");
  EXPECT_EQ(message({.temperature = 2, .top_k = 1, .top_p = 1}), "no error");
}

}  // namespace
}  // namespace axle
