#include "learn/weight_decay.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/mistakes.h"
#include "base/text/text.h"
#include "nn/init_rules.h"

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

Tree<double> weight_decay_scales(const Tree<ParamSpec>& params, const WeightDecayScales& by_pattern,
                                 std::string_view where) {
  Tree<double> scales = numbers_by_path(params, by_pattern, where);
  for (const auto& [path, spec] : params) scales.emplace(path, spec.weight_decay_scale.value_or(1));
  return scales;
}

void exempt_from_decay(Tree<ParamSpec>& params, const std::vector<std::string>& names,
                       std::string_view where) {
  const auto last_part = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  std::set<std::string> known;
  for (auto& [path, spec] : params) {
    known.insert(last_part(path));
    if (!spec.weight_decay_scale && std::ranges::count(names, last_part(path)) > 0)
      spec.weight_decay_scale = 0;
  }
  const std::vector<std::string> candidates(known.begin(), known.end());
  const bool has_any = std::ranges::any_of(names, [&](auto& name) { return known.contains(name); });
  for (const std::string& name : names) {
    if (name.find_first_of("./*") != name.npos) {
      throw ConfigError(
          fmt::format("{}: expected the last part of a parameter's path, such as scale, got '{}'",
                      where, name));
    }
    if (params.empty() || known.contains(name)) continue;
    const std::string near = suggest(name, candidates);
    if (!near.empty() || !has_any)
      throw ConfigError(fmt::format("{}: no parameter is named '{}'{}", where, name, near));
  }
}

}  // namespace axle
