// How well random numbers fit a distribution. Each bound is passed by 999 of 1000 sets of numbers;
// the tests use fixed keys, so that they never change their mind.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "ir/host_tensor.h"

namespace axle::testing {

/// Expects the elements to follow the continuous distribution whose probability of values up to x
/// is cdf(x): the test of Kolmogorov and Smirnov.
inline void expect_distribution(const HostTensor& x, const std::function<double(double)>& cdf) {
  std::vector<double> values;
  for (int64_t i = 0; i < x.size(); ++i) values.push_back(x.at(i));
  std::ranges::sort(values);
  const auto n = static_cast<double>(values.size());
  double largest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double p = cdf(values[i]);
    largest = std::max({largest, std::abs(p - static_cast<double>(i) / n),
                        std::abs(p - static_cast<double>(i + 1) / n)});
  }
  EXPECT_LT(largest, 1.95 / std::sqrt(n));
}

/// Expects the elements to be counts 0, 1, 2, ... with these probabilities: the chi-square test.
/// Neighbouring counts are taken together until 10 elements are expected.
inline void expect_counts(const HostTensor& x, const std::function<double(int64_t)>& probability) {
  const double n = static_cast<double>(x.size());
  double statistic = 0, expected = 0, observed = 0, rest = n, rest_observed = n;
  int degrees = 0;
  const auto add_cell = [&] {
    statistic += (observed - expected) * (observed - expected) / expected;
    ++degrees;
    expected = observed = 0;
  };
  for (int64_t k = 0; rest - expected > 10; ++k) {
    const double here = n * probability(k);
    double count = 0;
    for (int64_t i = 0; i < x.size(); ++i) count += x.at(i) == static_cast<double>(k);
    expected += here, observed += count;
    if (expected < 10) continue;
    rest -= expected, rest_observed -= observed;
    add_cell();
  }
  expected = rest, observed = rest_observed;
  if (expected > 0) add_cell();
  // Wilson and Hilferty's approximation of the bound.
  const double d = degrees - 1, spread = 2 / (9 * d);
  EXPECT_LT(statistic, d * std::pow(1 - spread + 3.09 * std::sqrt(spread), 3)) << d;
  EXPECT_GT(degrees, 3);
}

}  // namespace axle::testing
