// Small text helpers: suggestions for mistyped names, patterns on dotted paths, splitting and
// joining.
#pragma once

#include <array>
#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace axle {

/// Returns "; did you mean 'layers'?" for the end of an error message; "" if no candidate is near.
/// Names the nearest candidates, at most three if equally near. A candidate that begins with `name`
/// counts as near.
std::string suggest(std::string_view name, std::span<const std::string> candidates);

/// Returns the number of insertions, deletions, substitutions and swaps of neighbouring characters
/// between two words.
int edit_distance(std::string_view a, std::string_view b);

/// True if the dotted path matches the pattern. `*` stands for any run of characters inside one
/// segment, `**` for any number of segments, also none. Dots inside brackets ("m['a.b'].c") do not
/// separate.
bool glob_match(std::string_view pattern, std::string_view path);

/// Returns the path of a parameter or a layer with dots in place of slashes, as configs spell it.
std::string dotted(std::string path);

/// Returns the segments between separators; "" gives one empty segment.
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);
/// Returns the text with ASCII letters in lower case.
std::string lower_case(std::string_view text);
/// Orders texts with numbers in them by the numbers: "out2" before "out10", "a/2" before "a/10".
bool natural_less(std::string_view a, std::string_view b);
/// The same as the order of a map.
struct NaturalOrder {
  bool operator()(std::string_view a, std::string_view b) const { return natural_less(a, b); }
};
/// True if the text is not empty and holds only the digits 0 to 9.
bool is_digits(std::string_view text);
/// Returns the text without spaces, tabs and line ends on both sides.
std::string_view trim(std::string_view text);

/// Does what suggest() does, for paths whose segments are separated by slashes. Compares segment by
/// segment: a path may lack any segments but the last, so "layer0" finds 'model/layers/layer0'.
/// Empty segments of `path` are ignored. Names the candidates with the least difference in
/// letters, and of these the ones with the fewest further segments.
std::string suggest_path(std::string_view path, std::span<const std::string> candidates);

// The texts of an enum's values, written once.
//
//   enum class Shuffle { kNone, kRows };
//   constexpr auto texts_of(Shuffle) {
//     return std::to_array<EnumText<Shuffle>>(
//         {{Shuffle::kNone, "none"}, {Shuffle::kRows, "rows"}});
//   }
//
// defines to_text(Shuffle) and from_text(text, Shuffle&): what a config field needs.

/// One value of an enum and its text. Messages list the texts in the order of the array.
template <class E>
struct EnumText {
  E value;
  std::string_view text;
  std::string_view former = {};  // a text that it had before: still read, but never written
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
    if (row.text == text || (row.former == text && !text.empty())) return row.value;
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
