// Element types of tensors and their C++ counterparts.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

namespace axle {

enum class DType : uint8_t { kPred, kI32, kI64, kU32, kU64, kBF16, kF32, kF64 };

/// bfloat16 as stored: the upper half of an f32, rounded to the nearest value, ties to even.
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

/// Returns the bytes of one element; a predicate takes one byte.
size_t size_bytes(DType dtype);
/// Returns the name in configs and messages: "f32", "bf16", "i32", "pred", ...
std::string_view name_of(DType dtype);
/// Returns the MLIR element type: "f32", "ui32", "i1", ...
std::string_view mlir_name(DType dtype);
bool is_float(DType dtype);
/// True for i32, i64, u32 and u64.
bool is_integer(DType dtype);
bool is_unsigned(DType dtype);
/// Text of a dtype in configs: from_text accepts what name_of returns, and throws ConfigError for
/// anything else.
std::string to_text(DType dtype);
void from_text(std::string_view text, DType& dtype);

/// A dtype of floating-point numbers, for config fields whose text must name one.
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
  else if constexpr (std::is_same_v<T, int32_t>)
    return DType::kI32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return DType::kI64;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return DType::kU32;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return DType::kU64;
  else if constexpr (std::is_same_v<T, BF16>)
    return DType::kBF16;
  else if constexpr (std::is_same_v<T, float>)
    return DType::kF32;
  else {
    static_assert(std::is_same_v<T, double>, "no dtype for this C++ type");
    return DType::kF64;
  }
}

/// Calls fn(std::type_identity<T>{}) with the C++ type of `dtype`.
template <class Fn>
decltype(auto) dispatch(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kPred:
      return fn(std::type_identity<bool>{});
    case DType::kI32:
      return fn(std::type_identity<int32_t>{});
    case DType::kI64:
      return fn(std::type_identity<int64_t>{});
    case DType::kU32:
      return fn(std::type_identity<uint32_t>{});
    case DType::kU64:
      return fn(std::type_identity<uint64_t>{});
    case DType::kBF16:
      return fn(std::type_identity<BF16>{});
    case DType::kF32:
      return fn(std::type_identity<float>{});
    case DType::kF64:
      break;
  }
  return fn(std::type_identity<double>{});
}

/// Converts a value between element types as StableHLO's convert does. Floats to integers truncate
/// towards zero and saturate (NaN gives 0). Anything to pred is `!= 0`. A double goes to bf16 by
/// way of f32.
template <class To, class From>
To convert_element(From v) {
  if constexpr (std::is_same_v<To, From>)
    return v;
  else if constexpr (std::is_same_v<From, BF16>)
    return convert_element<To>(static_cast<float>(v));
  else if constexpr (std::is_same_v<To, BF16>)
    return BF16(static_cast<float>(v));
  else if constexpr (std::is_same_v<To, bool>)
    return v != From(0);
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(v)) return To(0);
    if (v <= static_cast<From>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    if (v >= static_cast<From>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
    return static_cast<To>(v);
  } else
    return static_cast<To>(v);
}

}  // namespace axle
