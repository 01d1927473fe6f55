// Floating-point numbers of 8 and 16 bits, as they are stored.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace axle {

/// bfloat16: the upper half of an f32, rounded to the nearest value, ties to even.
struct BF16 {
  uint16_t bits = 0;
  BF16() = default;
  explicit BF16(float v) {
    uint32_t u;
    std::memcpy(&u, &v, 4);
    bits =
        std::isnan(v) ? uint16_t((u >> 16) | 0x40) : uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16);
  }
  explicit operator float() const {
    const uint32_t u = uint32_t(bits) << 16;
    float v;
    std::memcpy(&v, &u, 4);
    return v;
  }
};

/// The layout of a small float: sign, exponent, fraction. Without infinities, the largest exponent
/// holds numbers too, and NaN has all bits set ("FN" in MLIR's names).
struct FloatLayout {
  int exponent_bits, fraction_bits;
  bool has_infinity;
};
/// Returns the bits of `v`, rounded to the nearest value, ties to even. A number beyond the largest
/// becomes infinity, or NaN where there is none, as in StableHLO's convert.
uint16_t small_float_bits(float v, const FloatLayout& layout);
/// Returns the number with these bits.
float small_float_value(uint16_t bits, const FloatLayout& layout);

/// Returns v with its fraction of 23 bits rounded to this many, ties to even. The exponent keeps
/// its range.
float with_fraction_bits(float v, int fraction_bits);

/// A number in one of the layouts below.
template <int kExponentBits, int kFractionBits, bool kHasInfinity>
struct SmallFloat {
  static constexpr FloatLayout kLayout{kExponentBits, kFractionBits, kHasInfinity};
  std::conditional_t<kExponentBits + kFractionBits == 7, uint8_t, uint16_t> bits = 0;
  SmallFloat() = default;
  explicit SmallFloat(float v) : bits(static_cast<decltype(bits)>(small_float_bits(v, kLayout))) {}
  explicit operator float() const { return small_float_value(bits, kLayout); }
};
/// IEEE half precision.
using F16 = SmallFloat<5, 10, true>;
/// 8-bit floats of OFP8 (Micikevicius et al. 2022, arXiv 2209.05433): e4m3 has no infinities and
/// ends at 448; e5m2 ends at 57344.
using F8E4M3FN = SmallFloat<4, 3, false>;
using F8E5M2 = SmallFloat<5, 2, true>;

}  // namespace axle
