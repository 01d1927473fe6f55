// A tree of values, kept flat: path ("decoder/layers/weight") -> value, in the order of paths.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace axle {

/// Iteration is sorted by path, so flattening a tree gives the same order in every process.
template <class T>
using Tree = std::map<std::string, T, std::less<>>;

/// "a" / "b" -> "a/b"; an empty side is dropped.
inline std::string join_path(std::string_view parent, std::string_view name) {
  if (parent.empty()) return std::string(name);
  if (name.empty()) return std::string(parent);
  return std::string(parent) + "/" + std::string(name);
}

}  // namespace axle
