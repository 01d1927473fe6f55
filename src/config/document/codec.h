// Conversion between leaf values and text. Enums take part by declaring texts_of (text.h),
// small value types by declaring `to_text(value)` and `from_text(text, value&)`, both in their own
// namespace.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/text/text.h"
#include "config/fields/bounds.h"

namespace axle {

namespace detail {
/// True if `text` is written as a number, even one that is out of range or "nan".
bool is_number(std::string_view text);
std::string integer_text(int64_t v);
std::string unsigned_text(uint64_t v);
std::string number_text(float v);
std::string number_text(double v);
bool parse_bool(std::string_view text);
int64_t parse_integer(std::string_view text, int64_t min, int64_t max, const Bounds& bounds);
uint64_t parse_unsigned(std::string_view text, uint64_t max, const Bounds& bounds);
float parse_float(std::string_view text, const Bounds& bounds);
double parse_double(std::string_view text, const Bounds& bounds);

template <class T>
concept HasText = requires(const T& v, T& to, std::string_view s) {
  std::string(to_text(v));
  from_text(s, to);
};
}  // namespace detail

/// Converts one leaf type: text() and parse(), where parse(text(v)) == v exactly. parse throws
/// ConfigError "expected ..., got ...".
template <class T>
struct Codec {
  static_assert(detail::HasText<T>,
                "a config field is a bool, number, string, a type with to_text and from_text, a "
                "struct with AXLE_CONFIG, "
                "a Child or Fn, or an optional, Required, vector or map<string, ...> of one");
  static constexpr LeafKind kKind = LeafKind::kText;
  static std::string text(const T& v) { return std::string(to_text(v)); }
  static T parse(std::string_view s) {
    T v{};
    from_text(s, v);
    return v;
  }
};

template <>
struct Codec<bool> {
  static constexpr LeafKind kKind = LeafKind::kBool;
  static std::string text(bool v) { return v ? "true" : "false"; }
  static bool parse(std::string_view s) { return detail::parse_bool(s); }
};

template <std::signed_integral T>
struct Codec<T> {
  static constexpr LeafKind kKind = LeafKind::kInteger;
  static std::string text(T v) { return detail::integer_text(v); }
  static T parse(std::string_view s, const Bounds& bounds = {}) {
    using Limits = std::numeric_limits<T>;
    return static_cast<T>(detail::parse_integer(s, Limits::min(), Limits::max(), bounds));
  }
};

template <std::unsigned_integral T>
struct Codec<T> {
  static constexpr LeafKind kKind = LeafKind::kInteger;
  static std::string text(T v) { return detail::unsigned_text(v); }
  static T parse(std::string_view s, const Bounds& bounds = {}) {
    return static_cast<T>(detail::parse_unsigned(s, std::numeric_limits<T>::max(), bounds));
  }
};

/// Writes the shortest text that reads back to the same value: "1e-06", "4.0". NaN and infinities
/// have texts for messages only; parse refuses them.
template <>
struct Codec<float> {
  static constexpr LeafKind kKind = LeafKind::kNumber;
  static std::string text(float v) { return detail::number_text(v); }
  static float parse(std::string_view s, const Bounds& bounds = {}) {
    return detail::parse_float(s, bounds);
  }
};
template <>
struct Codec<double> {
  static constexpr LeafKind kKind = LeafKind::kNumber;
  static std::string text(double v) { return detail::number_text(v); }
  static double parse(std::string_view s, const Bounds& bounds = {}) {
    return detail::parse_double(s, bounds);
  }
};

template <>
struct Codec<std::string> {
  static constexpr LeafKind kKind = LeafKind::kString;
  static std::string text(const std::string& v) { return v; }
  static std::string parse(std::string_view s) { return std::string(s); }
};

}  // namespace axle
