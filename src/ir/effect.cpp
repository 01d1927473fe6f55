#include "ir/effect.h"

#include <algorithm>

namespace axle {

bool has_effect(const OpNode& op) {
  if (dynamic_cast<const EffectAttributes*>(op.attributes.get())) return true;
  return std::ranges::any_of(op.regions, [](const auto& region) { return has_effect(*region); });
}

bool has_effect(const Region& region) {
  return std::ranges::any_of(region.ops(), [](const OpNode* op) { return has_effect(*op); });
}

}  // namespace axle
