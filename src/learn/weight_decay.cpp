#include "learn/weight_decay.h"

#include <algorithm>

namespace axle {

Tree<double> weight_decay_scales(const Tree<ParamSpec>& params, const WeightDecayScales& by_pattern,
                                 std::string_view where) {
  Tree<double> scales = numbers_by_path(params, by_pattern, where);
  for (const auto& [path, spec] : params) {
    scales.emplace(path, 1);
    if (spec.weight_decay_scale) scales.at(path) = *spec.weight_decay_scale;
  }
  return scales;
}

void exempt_from_decay(Tree<ParamSpec>& params, const std::vector<std::string>& names) {
  for (auto& [path, spec] : params) {
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    if (!spec.weight_decay_scale && std::ranges::count(names, name) > 0)
      spec.weight_decay_scale = 0;
  }
}

}  // namespace axle
