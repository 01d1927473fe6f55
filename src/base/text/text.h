// Small text helpers: names that were meant, patterns on dotted paths, splitting and joining.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// "; did you mean 'layers'?" naming the nearest candidates (at most three, when equally near), or
/// "" if none is near. A candidate that begins with `name` counts as near. For the end of an error
/// message.
std::string suggest(std::string_view name, std::span<const std::string> candidates);

/// Number of inserted, deleted, changed or swapped neighbouring characters between two words.
int edit_distance(std::string_view a, std::string_view b);

/// True if the dotted path fits the pattern: `*` is any run of characters inside one segment, `**`
/// any number of segments, none included. Dots inside brackets ("m['a.b'].c") do not separate.
bool glob_match(std::string_view pattern, std::string_view path);

/// Segments between separators; "" gives one empty segment.
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);
/// With ASCII letters in lower case.
std::string lower_case(std::string_view text);
/// Without blanks, tabs and line ends on both sides.
std::string_view trim(std::string_view text);

}  // namespace axle
