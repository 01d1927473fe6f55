#include "learn/optimizer.h"

namespace axle {

Tree<Tensor> Optimizer::gradient_point(const Tree<Tensor>& params, const Tree<Tensor>&) const {
  return params;
}

Tree<Tensor> Optimizer::measure(const MeasureInputs&) const { return {}; }

}  // namespace axle
