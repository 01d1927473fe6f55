#include "learn/weight_decay.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"

namespace axle {

Tree<double> weight_decay_scales(const Tree<ParamSpec>& params, const WeightDecayScales& by_pattern,
                                 std::string_view where) {
  Tree<double> scales;
  std::map<std::string, int> uses;
  for (const auto& [path, spec] : params) {
    std::string dotted = path;
    std::ranges::replace(dotted, '/', '.');
    const WeightDecayScales::value_type* chosen = nullptr;
    for (const auto& row : by_pattern) {
      if (!glob_match(row.first, dotted)) continue;
      ++uses[row.first];
      if (chosen && chosen->second != row.second) {
        throw ConfigError(fmt::format(
            "{}: expected one scale for each parameter, got '{}' and '{}' for {}, with {} and {}",
            where, chosen->first, row.first, path, double{chosen->second}, double{row.second}));
      }
      chosen = &row;
    }
    scales.emplace(path, spec.weight_decay_scale.value_or(chosen ? double{chosen->second} : 1));
  }
  for (const auto& [pattern, scale] : by_pattern) {
    if (!uses.contains(pattern)) {
      throw ConfigError(fmt::format("{}: '{}' matches no parameter", where, pattern));
    }
  }
  return scales;
}

}  // namespace axle
