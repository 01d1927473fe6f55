// Small text helpers: suggestions for mistyped names, patterns on dotted paths, splitting and
// joining.
#pragma once

#include <span>
#include <string>
#include <string_view>
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

}  // namespace axle
