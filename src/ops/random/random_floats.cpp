// Floating-point samplers. They use JAX's order of operations, so that the last bits agree.
#include "ops/random/random_floats.h"

#include <fmt/format.h>

#include <limits>
#include <numbers>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/error_function.h"
#include "ops/elementwise/exponential.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/broadcast.h"
#include "ops/random/random.h"

namespace axle::random {
namespace {

// The number of fraction bits and the smallest normal number of a float dtype.
struct FloatFormat {
  int fraction_bits;
  double tiny;
};

FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return {7, std::numeric_limits<float>::min()};
    case DType::kF32:
      return {23, std::numeric_limits<float>::min()};
    case DType::kF64:
      return {52, std::numeric_limits<double>::min()};
    default:
      throw ShapeError(
          fmt::format("random: expected a floating-point dtype, got {}", name_of(dtype)));
  }
}

// Returns the next number of the dtype after `value` in the direction of `towards`.
double next_after(DType dtype, double value, double towards) {
  if (dtype == DType::kF64) return std::nextafter(value, towards);
  if (dtype == DType::kF32)
    return std::nextafter(static_cast<float>(value), static_cast<float>(towards));
  if (value == 0) return std::copysign(0x1p-133, towards);  // the smallest denormal
  BF16 out(static_cast<float>(value));
  out.bits = static_cast<uint16_t>(out.bits + ((towards > value) == (value > 0) ? 1 : -1));
  return static_cast<float>(out);
}

double rounded_to(DType dtype, double value) { return HostTensor::full({}, value, dtype).at(0); }

// Returns floats in [0, 1): random bits become the fraction of a number in [1, 2), minus 1.
Tensor unit(const Tensor& key, const Shape& shape, DType dtype) {
  const int fraction_bits = format_of(dtype).fraction_bits;
  if (dtype == DType::kF64) {
    const Tensor fraction = bits(key, 64, shape) >> (64 - fraction_bits);
    // 1023 << 52 are the bits of 1.0.
    return bitcast_convert(fraction | full(shape, uint64_t{1023} << 52, DType::kU64), dtype) - 1;
  }
  // A bf16 is the upper half of an f32, so its fraction bits are shifted to their place in an f32.
  const int width = dtype == DType::kBF16 ? 8 : 32;
  Tensor fraction = bits(key, width, shape) >> (width - fraction_bits);
  if (dtype == DType::kBF16) fraction = fraction << 16;
  const Tensor one_to_two =
      bitcast_convert(fraction | full(shape, 0x3f800000, DType::kU32), DType::kF32);
  return astype(one_to_two, dtype) - 1;
}

}  // namespace

Tensor uniform(const Tensor& key, const Shape& shape, DType dtype, double low, double high) {
  const Tensor u = unit(key, shape, dtype);
  if (low == 0 && high == 1) return u;
  const double from = rounded_to(dtype, low);
  return maximum(u * rounded_to(dtype, rounded_to(dtype, high) - from) + from, from);
}

Tensor uniform(const Tensor& key, const Shape& shape, const Tensor& low, const Tensor& high) {
  const Tensor from = broadcast_to(low, shape);
  return maximum(unit(key, shape, low.dtype()) * (high - low) + from, from);
}

Tensor normal(const Tensor& key, const Shape& shape, DType dtype) {
  return erf_inv(uniform(key, shape, dtype, next_after(dtype, -1, 0), 1)) * std::numbers::sqrt2;
}

Tensor truncated_normal(const Tensor& key, const Shape& shape, double low, double high,
                        DType dtype) {
  const Tensor root = scalar(std::numbers::sqrt2, dtype);
  const Tensor from = scalar(low, dtype), to = scalar(high, dtype);
  const Tensor x = erf_inv(uniform(key, shape, erf(from / root), erf(to / root))) * root;
  // The interval is open, so the result is clamped to the next numbers inside its ends.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return clamp(next_after(dtype, low, kInfinity), x, next_after(dtype, high, -kInfinity));
}

Tensor bernoulli(const Tensor& key, const Shape& shape, double p) {
  return uniform(key, shape) < p;
}

Tensor bernoulli(const Tensor& key, const Shape& shape, const Tensor& p) {
  return uniform(key, shape, p.dtype()) < broadcast_to(p, shape);
}

Tensor rademacher(const Tensor& key, const Shape& shape, DType dtype) {
  return select(bernoulli(key, shape), full(shape, 1, dtype), full(shape, -1, dtype));
}

Tensor exponential(const Tensor& key, const Shape& shape, DType dtype) {
  return -log1p(-uniform(key, shape, dtype));
}

Tensor gumbel(const Tensor& key, const Shape& shape, DType dtype) {
  return -log(-log(uniform(key, shape, dtype, format_of(dtype).tiny, 1)));
}

Tensor laplace(const Tensor& key, const Shape& shape, DType dtype) {
  const Tensor u = uniform(key, shape, dtype, next_after(dtype, -1, 0), 1);
  return sign(u) * log1p(-abs(u));
}

}  // namespace axle::random
