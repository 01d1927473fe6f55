#include "learn/path_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/mistakes.h"
#include "nn/param_path.h"

namespace axle {
namespace {

[[noreturn]] void fail_unmatched(std::string_view where, std::string_view pattern) {
  throw ConfigError(fmt::format("{}: '{}' matches no parameter", where, pattern));
}

}  // namespace

Tree<double> numbers_by_path(const Tree<ParamSpec>& params, const NumbersByPath& by_pattern,
                             std::string_view where) {
  Tree<double> out;
  std::set<std::string> used;
  for (const auto& [path, spec] : params) {
    const NumbersByPath::value_type* chosen = nullptr;
    for (const auto& row : by_pattern) {
      if (!matches_path(row.first, path)) continue;
      used.insert(row.first);
      if (chosen && chosen->second != row.second) {
        throw ConfigError(fmt::format(
            "{}: expected one scale for each parameter, got '{}' and '{}' for {}, with {} and {}",
            where, chosen->first, row.first, path, double{chosen->second}, double{row.second}));
      }
      chosen = &row;
    }
    if (chosen) out.emplace(path, double{chosen->second});
  }
  for (const auto& [pattern, number] : by_pattern) {
    if (!params.empty() && !used.contains(pattern)) fail_unmatched(where, pattern);
  }
  return out;
}

std::set<std::string, std::less<>> matching_paths(const Tree<ParamSpec>& params,
                                                  const std::vector<std::string>& patterns,
                                                  std::string_view where) {
  std::set<std::string, std::less<>> out;
  Mistakes mistakes;
  for (const std::string& pattern : patterns) {
    bool used = false;
    for (const auto& [path, spec] : params) {
      if (!matches_path(pattern, path)) continue;
      out.insert(path);
      used = true;
    }
    if (!params.empty() && !used) mistakes.attempt([&] { fail_unmatched(where, pattern); });
  }
  mistakes.throw_any();
  return out;
}

}  // namespace axle
