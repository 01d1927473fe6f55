#include "data/mixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The bound, for every prefix of random mixtures of two to nine sources, over several periods.
TEST(Mixture, ProportionsAreExactOverEveryPrefix) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const size_t k = 2 + random() % 8;
    std::vector<Mixture::Part> parts(k);
    for (auto& part : parts) {
      part.weight = 1 + random() % (round % 3 == 0 ? 3 : 200);
      if (round % 5 == 0 && &part == &parts[0]) part.weight = 5000;
    }
    double sum = 0;
    for (const auto& part : parts) sum += static_cast<double>(part.weight);
    Mixture mixture(parts);
    EXPECT_FALSE(mixture.num_rows());
    std::vector<int64_t> counts(k);
    const double bound = 1 - 1 / (2 * static_cast<double>(k) - 2);
    for (int64_t n = 0; n < 3000; ++n) {
      const auto [source, index] = mixture.at(n);
      ASSERT_EQ(index, counts[source]++);
      for (size_t i = 0; i < k; ++i) {
        const double wanted = static_cast<double>((n + 1) * parts[i].weight) / sum;
        ASSERT_LE(std::abs(static_cast<double>(counts[i]) - wanted), bound + 1e-9)
            << "round " << round << ", row " << n;
      }
    }
  }
}

TEST(Mixture, SourcesThatEndLeaveTheOthersRunning) {
  Mixture mixture({{.weight = 7, .num_rows = 10}, {.weight = 2}, {.weight = 1, .num_rows = 50}});
  std::vector<int64_t> counts(3);
  for (int64_t n = 0; n < 500; ++n) {
    const auto [source, index] = mixture.at(n);
    ASSERT_EQ(index, counts[source]++);
  }
  EXPECT_THAT(counts, ElementsAre(10, 440, 50));
}

TEST(Mixture, RowsAreAllUsedIfAllSourcesAreFinite) {
  Mixture mixture({{.weight = 3, .num_rows = 4}, {.weight = 1, .num_rows = 9}});
  EXPECT_EQ(mixture.num_rows(), 13);
  std::vector<int64_t> counts(2);
  for (int64_t n = 0; n < 13; ++n) ++counts[mixture.at(n).source];
  EXPECT_THAT(counts, ElementsAre(4, 9));
}

// A row is the same whether the rows before it were asked for or not.
TEST(Mixture, RowsInAnyOrderAreTheSame) {
  const std::vector<Mixture::Part> parts = {
      {.weight = 5, .num_rows = 700}, {.weight = 3}, {.weight = 11, .num_rows = 2000}};
  Mixture in_order(parts);
  std::vector<Mixture::Row> rows;
  for (int64_t n = 0; n < 8000; ++n) rows.push_back(in_order.at(n));
  std::mt19937 random(2);
  Mixture jumping(parts);
  for (int i = 0; i < 3000; ++i) {
    const auto n = static_cast<int64_t>(random() % rows.size());
    const auto [source, index] = jumping.at(n);
    ASSERT_EQ(source, rows[n].source) << n;
    ASSERT_EQ(index, rows[n].index) << n;
  }
  EXPECT_EQ(Mixture(parts).at(4'000'000'000'000).source, 1u);  // without counting up to there
}

TEST(Mixture, WeightsBecomeIntegers) {
  EXPECT_THAT(integer_weights({0.7, 0.3}, "x"), ElementsAre(7, 3));
  EXPECT_THAT(integer_weights({2, 1, 0.5}, "x"), ElementsAre(4, 2, 1));
  EXPECT_THAT(error_of([] {
                integer_weights({123456.789012, 1}, "input");
              }),
              HasSubstr("input: expected weights that repeat within 10000000 rows"));
  EXPECT_THAT(error_of([] {
                integer_weights({1e-9, 1}, "input");
              }),
              HasSubstr("input: expected weights of 1e-6 to 1e9, got 1e-09"));
}

}  // namespace
}  // namespace axle
