#include "transform/marks.h"

#include "ir/value_map.h"

namespace axle {

std::vector<bool> needed_parameters(const Region& region) {
  ValueSet needed(region.results());
  for (const OpNode* op : region.ops()) needed.insert_all(op->inputs);
  std::vector<bool> out;
  for (const Tensor& p : region.parameters()) out.push_back(needed.contains(p));
  return out;
}

Values spread_results(const Values& results, const std::vector<bool>& used) {
  Values out;
  size_t next = 0;
  for (const bool is_used : used) out.push_back(is_used ? results[next++] : Tensor());
  return out;
}

}  // namespace axle
