// The texts of an enum's values, written once.
//
//   enum class Shuffle { kNone, kRows };
//   constexpr auto texts_of(Shuffle) {
//     return std::to_array<EnumText<Shuffle>>(
//         {{Shuffle::kNone, "none"}, {Shuffle::kRows, "rows"}});
//   }
//
// gives to_text(Shuffle) and from_text(text, Shuffle&): what a config field needs.
#pragma once

#include <array>
#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace axle {

/// One value of an enum and its text. Messages list the texts in the order of the array.
template <class E>
struct EnumText {
  E value;
  std::string_view text;
};

/// An enum with a function texts_of(E), found beside it, that returns an array of EnumText.
template <class E>
concept EnumWithTexts = std::is_enum_v<E> && requires(E value) {
  { texts_of(value)[0] } -> std::convertible_to<EnumText<E>>;
};

/// Throws ConfigError "expected a, b or c, got '<text>'".
[[noreturn]] void fail_no_enum_text(const std::vector<std::string_view>& texts,
                                    std::string_view got);

template <EnumWithTexts E>
std::string to_text(E value) {
  for (const EnumText<E>& row : texts_of(value)) {
    if (row.value == value) return std::string(row.text);
  }
  return {};
}

/// Returns the value of a text among `rows`. Throws ConfigError, which names the texts that there
/// are.
template <class E>
E value_of_text(std::span<const EnumText<E>> rows, std::string_view text) {
  std::vector<std::string_view> texts;
  for (const EnumText<E>& row : rows) {
    if (row.text == text) return row.value;
    texts.push_back(row.text);
  }
  fail_no_enum_text(texts, text);
}

/// Throws ConfigError, which names the texts that there are.
template <EnumWithTexts E>
void from_text(std::string_view text, E& value) {
  const auto texts = texts_of(value);
  value = value_of_text(std::span<const EnumText<E>>(texts), text);
}

}  // namespace axle
