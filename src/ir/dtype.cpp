#include "ir/dtype.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <iterator>
#include <span>

#include "base/error.h"
#include "base/text/text.h"

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
  // The first bits above all numbers: the bits of infinity, or of NaN.
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

namespace {

struct Row {
  std::string_view name, mlir;
  size_t size;
};
// In the order of the enumeration.
constexpr Row kRows[] = {{"pred", "i1", 1},
                         {"i4", "i4", 1},
                         {"i8", "i8", 1},
                         {"i16", "i16", 2},
                         {"i32", "i32", 4},
                         {"i64", "i64", 8},
                         {"u4", "ui4", 1},
                         {"u8", "ui8", 1},
                         {"u16", "ui16", 2},
                         {"u32", "ui32", 4},
                         {"u64", "ui64", 8},
                         {"f8e4m3fn", "f8E4M3FN", 1},
                         {"f8e5m2", "f8E5M2", 1},
                         {"f16", "f16", 2},
                         {"bf16", "bf16", 2},
                         {"f32", "f32", 4},
                         {"f64", "f64", 8},
                         {"c64", "complex<f32>", 8},
                         {"c128", "complex<f64>", 16}};
const Row& row(DType d) { return kRows[static_cast<size_t>(d)]; }

}  // namespace

size_t size_bytes(DType d) { return row(d).size; }
std::string_view name_of(DType d) { return row(d).name; }
std::string_view mlir_name(DType d) { return row(d).mlir; }
bool is_float(DType d) { return d >= DType::kF8E4M3FN && d <= DType::kF64; }
bool is_complex(DType d) { return d == DType::kC64 || d == DType::kC128; }
DType real_dtype(DType d) {
  return d == DType::kC64 ? DType::kF32 : d == DType::kC128 ? DType::kF64 : d;
}
bool is_differentiable(DType d) { return is_float(d) || is_complex(d); }
bool is_integer(DType d) { return d > DType::kPred && d < DType::kF8E4M3FN; }
bool is_unsigned(DType d) { return d >= DType::kU4 && d <= DType::kU64; }
bool is_storage_only(DType d) { return d == DType::kI4 || d == DType::kU4; }
DType wide_dtype(DType d) { return is_float(d) && size_bytes(d) < 4 ? DType::kF32 : d; }
std::string to_text(DType d) { return std::string(name_of(d)); }

namespace {

constexpr auto kTexts = [] {
  std::array<EnumText<DType>, std::size(kRows)> out{};
  for (size_t i = 0; i < out.size(); ++i) out[i] = {static_cast<DType>(i), kRows[i].name};
  return out;
}();
// From bf16 on: f8 and f16 are no dtypes to compute in.
constexpr auto kFloatTexts = std::span(kTexts).subspan(static_cast<size_t>(DType::kBF16), 3);

}  // namespace

void from_text(std::string_view text, DType& dtype) {
  dtype = value_of_text(std::span<const EnumText<DType>>(kTexts), text);
}

std::string to_text(FloatDType dtype) { return to_text(dtype.value); }
void from_text(std::string_view text, FloatDType& dtype) {
  dtype = value_of_text<DType>(kFloatTexts, text);
}

void fail_not_real(DType dtype) {
  throw InternalError(fmt::format("expected a real dtype, got {}", name_of(dtype)));
}

}  // namespace axle
