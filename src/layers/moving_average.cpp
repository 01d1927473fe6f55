#include "layers/moving_average.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"

namespace axle {

MovingAverage::MovingAverage(const Config& cfg, const Dims& dims, const Scope& scope)
    : LayerRole(scope), min_weight_(cfg.min_weight) {
  declare_state("value", {.shape = Shape(dims.shape.begin(), dims.shape.end())});
  declare_state("count", {.dtype = DType::kI32});
}

Tensor MovingAverage::forward(const Tensor& x) {
  const Tensor old = state("value"), count = state("count") + 1;
  const Tensor weight = maximum(1 / astype(count, old.dtype()), min_weight_);
  const Tensor value = (1 - weight) * old + weight * astype(x, old.dtype());
  if (is_training()) {
    set_state("value", value);
    set_state("count", count);
  }
  return value;
}

AXLE_REGISTER(MovingAverage::Dims)
AXLE_REGISTER(MovingAverage)

}  // namespace axle
