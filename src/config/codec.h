// Leaf values as text and in documents. Enums take part by declaring texts_of (enum_text.h), small
// value types by declaring `to_text(value)` and `from_text(text, value&)`, both in their own
// namespace.
#pragma once

#include <string>
#include <string_view>

#include "base/text/text.h"
#include "config/fields.h"

namespace axle {

namespace detail {
template <class T>
concept HasText = requires(const T& v, T& to, std::string_view s) {
  std::string(to_text(v));
  from_text(s, to);
};

/// True if `text` is written as a number, even one that is out of range or "nan".
bool is_number(std::string_view text);
/// Returns the text of a string in a document, or what stands for it. Throws ConfigError for a
/// value that no leaf of this kind is written as.
std::string text_in(const nlohmann::ordered_json& value, LeafKind kind);

/// A bool or a number, as a Ranged of it holds it, too. Numbers have the shortest text that reads
/// back to the same value: "1e-06", "4.0". NaN and infinities have texts for messages only.
template <class N>
struct Scalar {
  static std::string text(const void* at);
  static N parse(std::string_view text, const Bounds& bounds);
  static void read(const TypeOps& ops, void* at, const nlohmann::ordered_json& value);
  static void write(const void* at, nlohmann::ordered_json& out);
  static double number(const void* at) { return static_cast<double>(*static_cast<const N*>(at)); }
};
}  // namespace detail

/// Converts one leaf type: text() and parse(), where parse(text(v)) == v exactly. parse throws
/// ConfigError "expected ..., got ...".
template <class T>
struct Codec {
  using Value = detail::NumberOf<T>;
  static constexpr LeafKind kKind = std::is_same_v<T, bool>           ? LeafKind::kBool
                                    : std::is_integral_v<Value>       ? LeafKind::kInteger
                                    : std::is_floating_point_v<Value> ? LeafKind::kNumber
                                    : std::is_same_v<T, std::string>  ? LeafKind::kString
                                                                      : LeafKind::kText;
  static_assert(kKind != LeafKind::kText || detail::HasText<T>,
                "a config field is a bool, number, string, a type with to_text and from_text, a "
                "struct with AXLE_CONFIG, "
                "a Child or Fn, or an optional, Required, vector or map<string, ...> of one");

  static std::string text(const T& v) {
    if constexpr (kKind == LeafKind::kString)
      return v;
    else if constexpr (kKind == LeafKind::kText)
      return std::string(to_text(v));
    else
      return detail::Scalar<Value>::text(&v);
  }
  static Value parse(std::string_view s, const Bounds& bounds = detail::NumberIn<T>::kBounds) {
    if constexpr (kKind == LeafKind::kString) {
      return std::string(s);
    } else if constexpr (kKind == LeafKind::kText) {
      T v{};
      from_text(s, v);
      return v;
    } else {
      return detail::Scalar<Value>::parse(s, bounds);
    }
  }
};

}  // namespace axle
