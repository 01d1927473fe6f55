// Suggestions for mistyped paths.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace axle {

/// Does what suggest() does, for paths whose segments are separated by slashes. Compares segment by
/// segment: a path may lack any segments but the last, so "layer0" finds 'model/layers/layer0'.
/// Empty segments of `path` are ignored. Names the candidates with the least difference in
/// letters, and of these the ones with the fewest further segments.
std::string suggest_path(std::string_view path, std::span<const std::string> candidates);

}  // namespace axle
