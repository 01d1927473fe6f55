#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "ir/op_rules.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "ops/random/random_part.h"
#include "ops/random/threefry_keys.h"

namespace axle::random {
namespace {

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  const size_t offset = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1 && from[i] != to[offset + i]) return false;
  }
  return true;
}

}  // namespace

void check_draw(std::string_view op, const Key& key, const Shape& shape) {
  check_key(op, key, {PrngImpl::kThreefry2x32, PrngImpl::kRbg, PrngImpl::kUnsafeRbg});
  check_sizes(op, "sizes", shape, {key.data()});
}

void check_draw(std::string_view op, const Key& key, const Shape& shape, DType dtype) {
  check_draw(op, key, shape);
  if (!is_float(dtype)) {
    shape_error(op, fmt::format("expected a floating-point dtype, got {}", name_of(dtype)),
                {key.data()});
  }
}

void check_draw(std::string_view op, const Key& key, const Shape& shape,
                std::initializer_list<SamplerParameter> parameters) {
  check_draw(op, key, shape);
  Values operands;
  for (const SamplerParameter& p : parameters) operands.push_back(p.value);
  const SamplerParameter& first = *parameters.begin();
  for (const auto& [name, value] : parameters) {
    const std::string got = to_text(value.type());
    if (!is_float(value.dtype()))
      shape_error(op, fmt::format("expected a floating-point {}, got {}", name, got), operands);
    if (value.dtype() != first.value.dtype()) {
      shape_error(op,
                  fmt::format("expected {} in the dtype of {}, {}, got {}; convert one with astype",
                              name, first.name, name_of(first.value.dtype()), got),
                  operands);
    }
    if (!broadcasts_to(value.shape(), shape)) {
      shape_error(op,
                  fmt::format("expected {} to broadcast to {}, got {}", name, to_text(shape), got),
                  operands);
    }
  }
}

namespace {

// The number of fraction bits and the smallest normal number of a float dtype.
struct FloatFormat {
  int fraction_bits;
  double tiny;
};

FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN:
      return {3, 0x1p-6};
    case DType::kF8E5M2:
      return {2, 0x1p-14};
    case DType::kF16:
      return {10, 0x1p-14};
    case DType::kBF16:
      return {7, std::numeric_limits<float>::min()};
    case DType::kF32:
      return {23, std::numeric_limits<float>::min()};
    case DType::kF64:
      return {52, std::numeric_limits<double>::min()};
    default:
      throw InternalError(fmt::format("expected a floating-point dtype, got {}", name_of(dtype)));
  }
}

// Returns the next number of the dtype after `value` in the direction of `towards`.
double next_after(DType dtype, double value, double towards) {
  return dispatch(dtype, [&]<class T>(std::type_identity<T>) -> double {
    if constexpr (std::is_floating_point_v<T>) {
      return std::nextafter(static_cast<T>(value), static_cast<T>(towards));
    } else if constexpr (std::is_same_v<Computed<T>, float>) {
      T out(static_cast<float>(value));
      const bool grows = value == 0 || (towards > value) == (value > 0);
      out.bits = static_cast<decltype(out.bits)>(out.bits + (grows ? 1 : -1));
      return std::copysign(static_cast<float>(out), value == 0 ? towards : value);
    }
    return value;
  });
}

double rounded_to(DType dtype, double value) { return HostTensor::full({}, value, dtype).at(0); }

// As in JAX, formats with few fraction bits draw 8 bits.
int num_bits(DType dtype) {
  return format_of(dtype).fraction_bits < 8 ? 8 : static_cast<int>(8 * size_bytes(dtype));
}

// Returns floats in [0, 1) of num_bits random bits each: they become the fraction of a number in
// [1, 2), minus 1.
Tensor unit_of(const Tensor& bits, DType dtype) {
  const int fraction_bits = format_of(dtype).fraction_bits;
  const Tensor fraction = bits >> (num_bits(dtype) - fraction_bits);
  if (dtype == DType::kF64) {
    // 1023 << 52 are the bits of 1.0.
    return bitcast_convert(fraction | full(bits.shape(), uint64_t{1023} << 52, DType::kU64),
                           dtype) -
           1;
  }
  constexpr int kFloatFraction = 23;
  const Tensor in_place =
      fraction_bits < kFloatFraction ? fraction << (kFloatFraction - fraction_bits) : fraction;
  const Tensor one_to_two =
      bitcast_convert(in_place | full(bits.shape(), 0x3f800000, DType::kU32), DType::kF32);
  return astype(one_to_two, dtype) - 1;
}

Tensor unit(const Key& key, const Shape& shape, DType dtype) {
  return unit_of(bits(key, num_bits(dtype), shape), dtype);
}

}  // namespace

Tensor uniform(const Key& key, const Shape& shape, DType dtype, double low, double high) {
  check_draw("random::uniform", key, shape, dtype);
  if (!(low <= high)) {
    shape_error("random::uniform",
                fmt::format("expected low <= high, got low = {} and high = {}", low, high),
                {key.data()});
  }
  const Tensor u = unit(key, shape, dtype);
  if (low == 0 && high == 1) return u;
  const double from = rounded_to(dtype, low);
  return maximum(u * rounded_to(dtype, rounded_to(dtype, high) - from) + from, from);
}

Tensor uniform(const Key& key, const Shape& shape, const Tensor& low, const Tensor& high) {
  check_draw("random::uniform", key, shape, {{"low", low}, {"high", high}});
  const Tensor from = broadcast_to(low, shape);
  return maximum(unit(key, shape, low.dtype()) * (high - low) + from, from);
}

Tensor normal(const Key& key, const Shape& shape, DType dtype) {
  check_draw("random::normal", key, shape, real_dtype(dtype));
  if (is_complex(dtype)) {
    const std::vector<Key> keys = split_each(key);
    const DType part = real_dtype(dtype);
    return complex(normal(keys[0], shape, part), normal(keys[1], shape, part)) /
           std::numbers::sqrt2;
  }
  return erf_inv(uniform(key, shape, dtype, next_after(dtype, -1, 0), 1)) * std::numbers::sqrt2;
}

Tensor truncated_normal(const Key& key, const Shape& shape, double low, double high, DType dtype) {
  check_draw("random::truncated_normal", key, shape, dtype);
  // The interval is open, so the result is clamped to the next numbers inside its ends.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double least = next_after(dtype, low, kInfinity);
  const double largest = next_after(dtype, high, -kInfinity);
  if (!(least <= largest)) {
    shape_error("random::truncated_normal",
                fmt::format("expected low < high and a number of {} between them, got low = {} and "
                            "high = {}",
                            name_of(dtype), low, high),
                {key.data()});
  }
  const Tensor root = scalar(std::numbers::sqrt2, dtype);
  const Tensor from = scalar(low, dtype), to = scalar(high, dtype);
  const Tensor x = erf_inv(uniform(key, shape, erf(from / root), erf(to / root))) * root;
  return clamp(least, x, largest);
}

Tensor bernoulli(const Key& key, const Shape& shape, double p) {
  check_draw("random::bernoulli", key, shape);
  return uniform(key, shape) < p;
}

Tensor bernoulli(const Key& key, const Shape& shape, const Tensor& p) {
  check_draw("random::bernoulli", key, shape, {{"p", p}});
  return uniform(key, shape, p.dtype()) < broadcast_to(p, shape);
}

Tensor bernoulli(const Key& key, const Part& part, double p) {
  check_draw("random::bernoulli", key, part.sizes);
  if (!draws_parts(key)) {
    shape_error("random::bernoulli",
                "expected a key of threefry2x32 in its partitionable mode for a part of a draw",
                {key.data()});
  }
  return unit_of(threefry_bits(key, num_bits(DType::kF32), part), DType::kF32) < p;
}

Tensor rademacher(const Key& key, const Shape& shape, DType dtype) {
  check_draw("random::rademacher", key, shape);
  return select(bernoulli(key, shape), full(shape, 1, dtype), full(shape, -1, dtype));
}

Tensor exponential(const Key& key, const Shape& shape, DType dtype) {
  check_draw("random::exponential", key, shape, dtype);
  return -log1p(-uniform(key, shape, dtype));
}

Tensor gumbel(const Key& key, const Shape& shape, DType dtype) {
  check_draw("random::gumbel", key, shape, dtype);
  return -log(-log(uniform(key, shape, dtype, format_of(dtype).tiny, 1)));
}

Tensor laplace(const Key& key, const Shape& shape, DType dtype) {
  check_draw("random::laplace", key, shape, dtype);
  const Tensor u = uniform(key, shape, dtype, next_after(dtype, -1, 0), 1);
  return sign(u) * log1p(-abs(u));
}

Tensor logistic(const Key& key, const Shape& shape, DType dtype) {
  check_draw("random::logistic", key, shape, dtype);
  const Tensor u = uniform(key, shape, dtype, format_of(dtype).tiny, 1);
  return log(u) - log1p(-u);
}

Tensor cauchy(const Key& key, const Shape& shape, DType dtype) {
  check_draw("random::cauchy", key, shape, dtype);
  const double epsilon = std::ldexp(1.0, -format_of(dtype).fraction_bits);
  return tan(std::numbers::pi * (uniform(key, shape, dtype, epsilon, 1) - 0.5));
}

}  // namespace axle::random
