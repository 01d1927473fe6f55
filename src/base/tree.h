// A flat tree of values: path ("decoder/layers/weight") -> value, sorted by path.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace axle {

namespace detail {
[[noreturn]] void fail_missing(const std::string& path);
}  // namespace detail

/// Entries are sorted by path, so every process flattens a tree in the same order.
template <class T>
class Tree : public std::map<std::string, T, std::less<>> {
 public:
  using Base = std::map<std::string, T, std::less<>>;
  using Base::Base;

  /// Throws std::out_of_range, which names the path, if it is not there.
  T& at(const std::string& path) { return found(*this, path); }
  const T& at(const std::string& path) const { return found(*this, path); }

 private:
  static auto& found(auto& tree, const std::string& path) {
    const auto it = tree.find(path);
    if (it == tree.end()) detail::fail_missing(path);
    return it->second;
  }
};

/// Joins paths: "a" and "b" -> "a/b"; an empty side is dropped.
inline std::string join_path(std::string_view parent, std::string_view name) {
  if (parent.empty()) return std::string(name);
  if (name.empty()) return std::string(parent);
  return std::string(parent) + "/" + std::string(name);
}

/// Returns the entries below `prefix`, without the prefix in their paths: subtree(tree, "ema")
/// holds "ema/a/b" as "a/b".
template <class T>
Tree<T> subtree(const Tree<T>& tree, std::string_view prefix) {
  const std::string head = std::string(prefix) + "/";
  Tree<T> out;
  for (auto it = tree.lower_bound(head); it != tree.end() && it->first.starts_with(head); ++it) {
    out.emplace_hint(out.end(), it->first.substr(head.size()), it->second);
  }
  return out;
}

/// Puts all entries of `part` into `tree`, below `prefix`.
template <class T>
void put_subtree(Tree<T>& tree, std::string_view prefix, Tree<T> part) {
  for (auto& [path, value] : part) {
    tree.insert_or_assign(join_path(prefix, path), std::move(value));
  }
}

}  // namespace axle
