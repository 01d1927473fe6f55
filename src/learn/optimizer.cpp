#include "learn/optimizer.h"

namespace axle {

Tree<Tensor> Optimizer::gradient_point(const Tree<Tensor>& params, const Tree<Tensor>&) const {
  return params;
}

Tree<Tensor> Optimizer::measure(const MeasureInputs&) const { return {}; }

Tree<UpdateSize> update_sizes_of(const Tree<ParamSpec>& params, UpdateKind kind) {
  Tree<UpdateSize> out;
  for (const auto& [path, spec] : params) out.emplace(path, UpdateSize{.kind = kind});
  return out;
}

}  // namespace axle
