// Host tensors in tests: random ones, and how much two of them differ.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ir/host_tensor.h"

namespace axle::testing {

/// The dtype of this kind of numbers in which tests compute: f64, c128, or the dtype itself.
inline DType exact_dtype(DType dtype) {
  return is_complex(dtype) ? DType::kC128 : is_float(dtype) ? DType::kF64 : dtype;
}
/// Returns the real and imaginary parts of complex numbers along a new last dim, in f64; other
/// tensors as they are.
inline HostTensor real_parts(const HostTensor& x) {
  if (!is_complex(x.dtype())) return x;
  Shape shape = x.shape();
  shape.push_back(2);
  HostTensor out(Type{DType::kF64, shape});
  const HostTensor exact = x.astype(DType::kC128);
  std::ranges::copy(exact.bytes(), out.bytes().begin());
  return out;
}
/// Returns complex numbers in c128; the last dim of x holds their parts.
inline HostTensor complex_of_parts(const HostTensor& x) {
  const HostTensor exact = x.astype(DType::kF64);
  HostTensor out(Type{DType::kC128, Shape(x.shape().begin(), x.shape().end() - 1)});
  std::ranges::copy(exact.bytes(), out.bytes().begin());
  return out;
}

/// Returns normal values times `scale`, in f64 or c128; integers are zero.
inline HostTensor random_tensor(Type type, uint64_t seed, double scale = 0.5) {
  const DType dtype = exact_dtype(type.dtype);
  HostTensor out(Type{dtype, std::move(type.dims)});
  if (is_complex(dtype)) {
    return complex_of_parts(random_tensor(real_parts(out).type(), seed, scale));
  }
  if (!is_float(dtype)) return out;
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> draw(0, scale);
  for (double& v : out.values<double>()) v = draw(rng);
  return out;
}
/// Returns normal values times `scale`, in f32.
inline HostTensor normal_values(Shape shape, uint64_t seed, double scale = 1) {
  return random_tensor({DType::kF32, std::move(shape)}, seed, scale).astype(DType::kF32);
}

/// Returns the largest magnitude of a real or imaginary part.
inline double largest_element(const HostTensor& tensor) {
  const HostTensor x = real_parts(tensor);
  double largest = 0;
  for (int64_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x.at(i)));
  return largest;
}
/// Returns the largest absolute difference of a real or imaginary part; NaN and another number of
/// elements count as infinite.
inline double largest_difference(const HostTensor& one, const HostTensor& other) {
  const HostTensor a = real_parts(one), b = real_parts(other);
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

/// Expects equal shapes, and elements that differ by `tolerance` at most; of complex numbers, both
/// parts.
inline void expect_near(const HostTensor& actual, const HostTensor& expected, double tolerance) {
  ASSERT_EQ(actual.shape(), expected.shape());
  ASSERT_EQ(is_complex(actual.dtype()), is_complex(expected.dtype()));
  const HostTensor a = real_parts(actual), e = real_parts(expected);
  for (int64_t i = 0; i < e.size(); ++i) ASSERT_NEAR(a.at(i), e.at(i), tolerance) << "at " << i;
}

}  // namespace axle::testing
