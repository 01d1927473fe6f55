// Element types of tensors and their C++ counterparts.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
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

enum class DType : uint8_t {
  kPred,
  kI4,
  kI8,
  kI16,
  kI32,
  kI64,
  kU4,
  kU8,
  kU16,
  kU32,
  kU64,
  kF8E4M3FN,
  kF8E5M2,
  kF16,
  kBF16,
  kF32,
  kF64,
  kC64,
  kC128
};

/// A 4-bit integer, stored in a byte. Conversions from integers keep the low bits.
template <class Byte>
struct FourBits {
  Byte value = 0;
  FourBits() = default;
  explicit FourBits(int v)
      : value(static_cast<Byte>(std::is_signed_v<Byte> && (v & 8) ? (v & 15) - 16 : v & 15)) {}
  explicit operator Byte() const { return value; }
};
using I4 = FourBits<int8_t>;
using U4 = FourBits<uint8_t>;

/// Returns the bytes of one element in host memory. A predicate and a 4-bit integer take one byte.
size_t size_bytes(DType dtype);
/// Returns the name in configs and messages: "f32", "bf16", "i32", "pred", ...
std::string_view name_of(DType dtype);
/// Returns the MLIR element type: "f32", "ui32", "i1", ...
std::string_view mlir_name(DType dtype);
/// True for floating-point numbers; false for complex ones.
bool is_float(DType dtype);
bool is_complex(DType dtype);
/// The dtype of the real part of complex numbers; other dtypes as they are.
DType real_dtype(DType dtype);
/// True for the dtypes that have derivatives: floats and complex numbers.
bool is_differentiable(DType dtype);
/// True for signed and unsigned integers; false for pred.
bool is_integer(DType dtype);
bool is_unsigned(DType dtype);
/// True for 4-bit integers: random bits, labels of losses and promotion do not take them.
bool is_storage_only(DType dtype);
/// The dtype in which sums are computed: f32 for floats of 8 and 16 bits, else `dtype` itself.
DType wide_dtype(DType dtype);
/// Text of a dtype in configs: from_text accepts what name_of returns, and throws ConfigError for
/// anything else.
std::string to_text(DType dtype);
void from_text(std::string_view text, DType& dtype);

/// A floating-point dtype with the range of f32 or more, for config fields whose text must name
/// one. f16 and f8 are left out: gradients in them need loss scaling, which the trainer lacks.
struct FloatDType {
  DType value = DType::kF32;
  constexpr FloatDType() = default;
  constexpr FloatDType(DType dtype) : value(dtype) {}
  constexpr operator DType() const { return value; }
};
std::string to_text(FloatDType dtype);
/// Throws ConfigError, also for a dtype of integers or predicates.
void from_text(std::string_view text, FloatDType& dtype);

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return DType::kPred;
  else if constexpr (std::is_same_v<T, I4>)
    return DType::kI4;
  else if constexpr (std::is_same_v<T, int8_t>)
    return DType::kI8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return DType::kI16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return DType::kI32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return DType::kI64;
  else if constexpr (std::is_same_v<T, U4>)
    return DType::kU4;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return DType::kU8;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return DType::kU16;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return DType::kU32;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return DType::kU64;
  else if constexpr (std::is_same_v<T, F8E4M3FN>)
    return DType::kF8E4M3FN;
  else if constexpr (std::is_same_v<T, F8E5M2>)
    return DType::kF8E5M2;
  else if constexpr (std::is_same_v<T, F16>)
    return DType::kF16;
  else if constexpr (std::is_same_v<T, BF16>)
    return DType::kBF16;
  else if constexpr (std::is_same_v<T, float>)
    return DType::kF32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::kF64;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return DType::kC64;
  else {
    static_assert(std::is_same_v<T, std::complex<double>>, "no dtype for this C++ type");
    return DType::kC128;
  }
}

/// Throws InternalError for a complex dtype where a real one is expected.
[[noreturn]] void fail_not_real(DType dtype);

/// Calls fn(std::type_identity<T>{}) with the C++ type of `dtype`, which is not complex.
template <class Fn>
decltype(auto) dispatch(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kPred:
      return fn(std::type_identity<bool>{});
    case DType::kI4:
      return fn(std::type_identity<I4>{});
    case DType::kI8:
      return fn(std::type_identity<int8_t>{});
    case DType::kI16:
      return fn(std::type_identity<int16_t>{});
    case DType::kI32:
      return fn(std::type_identity<int32_t>{});
    case DType::kI64:
      return fn(std::type_identity<int64_t>{});
    case DType::kU4:
      return fn(std::type_identity<U4>{});
    case DType::kU8:
      return fn(std::type_identity<uint8_t>{});
    case DType::kU16:
      return fn(std::type_identity<uint16_t>{});
    case DType::kU32:
      return fn(std::type_identity<uint32_t>{});
    case DType::kU64:
      return fn(std::type_identity<uint64_t>{});
    case DType::kF8E4M3FN:
      return fn(std::type_identity<F8E4M3FN>{});
    case DType::kF8E5M2:
      return fn(std::type_identity<F8E5M2>{});
    case DType::kF16:
      return fn(std::type_identity<F16>{});
    case DType::kBF16:
      return fn(std::type_identity<BF16>{});
    case DType::kF32:
      return fn(std::type_identity<float>{});
    case DType::kF64:
      return fn(std::type_identity<double>{});
    case DType::kC64:
    case DType::kC128:
      break;
  }
  fail_not_real(dtype);
}

/// Like dispatch, for complex dtypes.
template <class Fn>
decltype(auto) dispatch_complex(DType dtype, Fn&& fn) {
  return dtype == DType::kC128 ? fn(std::type_identity<std::complex<double>>{})
                               : fn(std::type_identity<std::complex<float>>{});
}
/// Like dispatch, for all dtypes.
template <class Fn>
decltype(auto) dispatch_any(DType dtype, Fn&& fn) {
  return is_complex(dtype) ? dispatch_complex(dtype, fn) : dispatch(dtype, fn);
}

/// Calls fn with an unsigned type of the size of one element, for code that only moves elements.
template <class Fn>
void dispatch_size(DType dtype, Fn&& fn) {
  struct Wide {
    uint64_t words[2];
  };
  switch (size_bytes(dtype)) {
    case 1:
      return fn(std::type_identity<uint8_t>{});
    case 2:
      return fn(std::type_identity<uint16_t>{});
    case 4:
      return fn(std::type_identity<uint32_t>{});
    case 8:
      return fn(std::type_identity<uint64_t>{});
    default:
      return fn(std::type_identity<Wide>{});
  }
}

/// The C++ type that computes with a stored type: float for small floats, a byte for 4-bit
/// integers.
template <class T>
struct ComputedAs {
  using type = T;
};
template <>
struct ComputedAs<BF16> {
  using type = float;
};
template <int kExponentBits, int kFractionBits, bool kHasInfinity>
struct ComputedAs<SmallFloat<kExponentBits, kFractionBits, kHasInfinity>> {
  using type = float;
};
template <class Byte>
struct ComputedAs<FourBits<Byte>> {
  using type = Byte;
};
template <class T>
using Computed = typename ComputedAs<T>::type;

/// The least and the largest value of an integer type.
template <class T>
struct IntegerRange {
  static constexpr T kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
};
template <>
struct IntegerRange<I4> {
  static constexpr int8_t kMin = -8, kMax = 7;
};
template <>
struct IntegerRange<U4> {
  static constexpr uint8_t kMin = 0, kMax = 15;
};

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

/// Converts a value between element types as StableHLO's convert does. Floats to integers truncate
/// towards zero and saturate (NaN becomes 0). Anything to pred is `!= 0`. A double goes to a small
/// float by way of f32. A complex number becomes a real one by its real part.
template <class To, class From>
To convert_element(From v) {
  if constexpr (std::is_same_v<To, From>)
    return v;
  else if constexpr (kIsComplex<From> && kIsComplex<To>)
    return To(v);
  else if constexpr (kIsComplex<From>)
    return convert_element<To>(v.real());
  else if constexpr (kIsComplex<To>)
    return To(convert_element<typename To::value_type>(v));
  else if constexpr (!std::is_same_v<Computed<From>, From>)
    return convert_element<To>(static_cast<Computed<From>>(v));
  else if constexpr (std::is_same_v<To, bool>)
    return v != From(0);
  else if constexpr (std::is_same_v<Computed<To>, float>)
    return To(static_cast<float>(v));
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<Computed<To>>) {
    using Range = IntegerRange<To>;
    if (std::isnan(v)) return To(0);
    if (v <= static_cast<From>(Range::kMin)) return To(Range::kMin);
    if (v >= static_cast<From>(Range::kMax)) return To(Range::kMax);
    return To(static_cast<Computed<To>>(v));
  } else if constexpr (!std::is_same_v<Computed<To>, To>)
    return To(static_cast<int>(v));
  else
    return static_cast<To>(v);
}

}  // namespace axle
