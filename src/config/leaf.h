// Leaf values as text. Enums take part by declaring texts_of (text.h), small value types by
// declaring `to_text(value)` and `from_text(text, value&)`, both in their own namespace.
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

/// Returns the text that a document holds for a leaf which is no number. Throws ConfigError if
/// it holds none.
std::string text_in(const nlohmann::ordered_json& value, LeafKind kind);

}  // namespace detail

/// Both convert one leaf type exactly: parse_leaf<T>(leaf_text(v)) == v. parse_leaf throws
/// ConfigError "expected ..., got ...".
template <class T>
std::string leaf_text(const T& v) {
  using Value = detail::NumberOf<T>;
  if constexpr (std::is_arithmetic_v<Value>)
    return NumberCodec<Value>::text(v);
  else if constexpr (std::is_same_v<T, std::string>)
    return v;
  else
    return std::string(to_text(v));
}
template <class T>
detail::NumberOf<T> parse_leaf(std::string_view s) {
  using Value = detail::NumberOf<T>;
  if constexpr (std::is_arithmetic_v<Value>) {
    return NumberCodec<Value>::parse(s, detail::NumberIn<T>::kBounds);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return std::string(s);
  } else {
    T v{};
    from_text(s, v);
    return v;
  }
}

}  // namespace axle
