// Host tensors in tests: random ones, and how much two of them differ.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ir/host_tensor.h"

namespace axle::testing {

/// Returns normal values times `scale`, in f64; integers are zero.
inline HostTensor random_tensor(Type type, uint64_t seed, double scale = 0.5) {
  HostTensor out(HostTensor(type).astype(is_float(type.dtype) ? DType::kF64 : type.dtype));
  if (!is_float(type.dtype)) return out;
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> draw(0, scale);
  for (double& v : out.values<double>()) v = draw(rng);
  return out;
}
/// Returns normal values times `scale`, in f32.
inline HostTensor normal_values(Shape shape, uint64_t seed, double scale = 1) {
  return random_tensor({DType::kF32, std::move(shape)}, seed, scale).astype(DType::kF32);
}

inline double largest_element(const HostTensor& x) {
  double largest = 0;
  for (int64_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x.at(i)));
  return largest;
}
/// Returns the largest absolute difference; NaN and another number of elements count as infinite.
inline double largest_difference(const HostTensor& a, const HostTensor& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (int64_t i = 0; i < b.size(); ++i) {
    const double d = std::abs(a.at(i) - b.at(i));
    largest = std::isnan(d) ? INFINITY : std::max(largest, d);
  }
  return largest;
}
/// Returns largest_difference divided by the largest element of `expected`.
inline double relative_difference(const HostTensor& actual, const HostTensor& expected) {
  return largest_difference(actual, expected) / std::max(largest_element(expected), 1e-30);
}

/// Expects equal shapes, and elements that differ by `tolerance` at most.
inline void expect_near(const HostTensor& actual, const HostTensor& expected, double tolerance) {
  ASSERT_EQ(actual.shape(), expected.shape());
  for (int64_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(actual.at(i), expected.at(i), tolerance) << "at " << i;
}

}  // namespace axle::testing
