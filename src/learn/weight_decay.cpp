#include "learn/weight_decay.h"

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

}  // namespace axle
