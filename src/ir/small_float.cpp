#include "ir/small_float.h"

#include <bit>

namespace axle {
namespace {

constexpr int kFloatFraction = 23, kFloatBias = 127;

int bias_of(const FloatLayout& layout) { return (1 << (layout.exponent_bits - 1)) - 1; }

// Returns 2^n, a normal f32.
float power_of_two(int n) {
  return std::bit_cast<float>(static_cast<uint32_t>(n + kFloatBias) << kFloatFraction);
}

// The bits of NaN without its sign.
uint32_t nan_bits(const FloatLayout& layout) {
  const uint32_t all = (1u << (layout.exponent_bits + layout.fraction_bits)) - 1;
  return layout.has_infinity ? all ^ ((1u << (layout.fraction_bits - 1)) - 1) : all;
}

// Returns v / 2^shift, rounded to nearest even.
uint32_t shifted_and_rounded(uint32_t v, int shift) {
  if (shift > kFloatFraction + 2) return 0;
  const uint32_t half = 1u << (shift - 1), rest = v & ((1u << shift) - 1);
  const uint32_t low = v >> shift;
  return low + (rest > half || (rest == half && low % 2 == 1) ? 1 : 0);
}

}  // namespace

float with_fraction_bits(float v, int fraction_bits) {
  const int drop = kFloatFraction - fraction_bits;
  if (drop <= 0 || !std::isfinite(v)) return v;
  return std::bit_cast<float>(shifted_and_rounded(std::bit_cast<uint32_t>(v), drop) << drop);
}

uint16_t small_float_bits(float v, const FloatLayout& layout) {
  const auto u = std::bit_cast<uint32_t>(v);
  const int width = layout.exponent_bits + layout.fraction_bits;
  const uint32_t sign = u >> 31 << width;
  if (std::isnan(v)) return static_cast<uint16_t>(sign | nan_bits(layout));
  // The first bits above all numbers: those of infinity, or of NaN.
  const uint32_t end = layout.has_infinity
                           ? ((1u << layout.exponent_bits) - 1) << layout.fraction_bits
                           : nan_bits(layout);
  const int exponent = static_cast<int>(u >> kFloatFraction & 0xff) - kFloatBias + bias_of(layout);
  const uint32_t fraction = u & ((1u << kFloatFraction) - 1);
  const int drop = kFloatFraction - layout.fraction_bits;
  uint32_t bits;
  if (exponent > 0) {
    // A carry out of the fraction raises the exponent, which is right.
    bits = (static_cast<uint32_t>(exponent) << layout.fraction_bits) +
           shifted_and_rounded(fraction, drop);
  } else {
    bits = shifted_and_rounded(fraction | 1u << kFloatFraction, drop + 1 - exponent);
  }
  return static_cast<uint16_t>(sign | (bits > end ? end : bits));
}

float small_float_value(uint16_t bits, const FloatLayout& layout) {
  const int width = layout.exponent_bits + layout.fraction_bits;
  const uint32_t magnitude = bits & ((1u << width) - 1);
  const bool negative = bits >> width & 1;
  const uint32_t exponent = magnitude >> layout.fraction_bits;
  const uint32_t fraction = magnitude & ((1u << layout.fraction_bits) - 1);
  const bool is_top = exponent == (1u << layout.exponent_bits) - 1;
  float v;
  if (layout.has_infinity && is_top)
    v = fraction == 0 ? INFINITY : NAN;
  else if (!layout.has_infinity && magnitude == nan_bits(layout))
    v = NAN;
  else if (exponent == 0)
    v = static_cast<float>(fraction) * power_of_two(1 - bias_of(layout) - layout.fraction_bits);
  else
    v = std::bit_cast<float>(magnitude << (kFloatFraction - layout.fraction_bits)) *
        power_of_two(kFloatBias - bias_of(layout));
  return std::copysign(v, negative ? -1.0f : 1.0f);
}

}  // namespace axle
