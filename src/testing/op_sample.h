// A call of an op with inputs, and what makes such samples.
#pragma once

#include <random>
#include <string_view>

#include "ops/ops.h"

namespace axle::testing {

struct OpSample {
  std::string_view op;
  std::vector<HostTensor> inputs;
  std::function<Values(const Values&)> fn;
};

namespace samples {

/// Returns values uniform over [low, high). The same seed gives the same values everywhere.
inline HostTensor uniform(const Shape& shape, double low = -2, double high = 2, uint64_t seed = 1) {
  HostTensor out = HostTensor::zeros(shape);
  std::mt19937_64 bits(seed);
  for (float& v : out.values<float>())
    v = static_cast<float>(low + (high - low) * static_cast<double>(bits() >> 11) * 0x1p-53);
  return out;
}
inline HostTensor positive(const Shape& shape, uint64_t seed = 1) {
  return uniform(shape, 0.3, 2.5, seed);
}
inline HostTensor integers(const Shape& shape, DType dtype = DType::kI32, double low = -40,
                           double high = 40) {
  return uniform(shape, low, high, 5).astype(DType::kI32).astype(dtype);
}
inline HostTensor predicate(const Shape& shape) {
  return uniform(shape, -1, 1, 3).astype(DType::kI32).astype(DType::kPred);
}
inline HostTensor mask(const Shape& shape) {
  HostTensor out(Type{DType::kPred, shape});
  size_t i = 0;
  for (bool& v : out.values<bool>()) v = ++i % 3 != 0;
  return out;
}

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);

inline OpSample one(std::string_view op, HostTensor x, Unary f) {
  return {op, {std::move(x)}, [f](const Values& v) { return Values{f(v[0])}; }};
}
inline OpSample two(std::string_view op, HostTensor a, HostTensor b, Binary f) {
  return {op, {std::move(a), std::move(b)}, [f](const Values& v) { return Values{f(v[0], v[1])}; }};
}
inline OpSample call(std::string_view op, std::vector<HostTensor> x,
                     std::function<Tensor(const Values&)> f) {
  return {op, std::move(x), [f](const Values& v) { return Values{f(v)}; }};
}

}  // namespace samples

}  // namespace axle::testing
