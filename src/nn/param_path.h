// Patterns over the paths of parameters.
#pragma once

#include <string_view>

namespace axle {

/// True if the pattern, a glob over paths with dots (glob_match in base/text/text.h), matches the
/// path of a parameter: "**.norm.scale" matches "decoder/norm/scale".
bool matches_path(std::string_view pattern, std::string_view path);

}  // namespace axle
