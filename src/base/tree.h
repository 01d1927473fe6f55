// A flat tree of values: path ("decoder/layers/weight") -> value, sorted by path.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace axle {

/// The order by path makes flattening a tree give the same order in every process.
template <class T>
using Tree = std::map<std::string, T, std::less<>>;

/// Joins paths: "a" and "b" -> "a/b"; an empty side is dropped.
inline std::string join_path(std::string_view parent, std::string_view name) {
  if (parent.empty()) return std::string(name);
  if (name.empty()) return std::string(parent);
  return std::string(parent) + "/" + std::string(name);
}

}  // namespace axle
