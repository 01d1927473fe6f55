#include "layers/moving_average.h"

#include "config/register.h"
#include "ops/elementwise/elementwise.h"

namespace axle {

Tensor next_average(const Tensor& average, const Tensor& x, const Tensor& count,
                    double min_weight) {
  const Tensor weight = maximum(1 / astype(count, average.dtype()), min_weight);
  return (1 - weight) * average + weight * astype(x, average.dtype());
}

MovingAverage::MovingAverage(const Config& cfg, const Dims& dims, const Scope& scope)
    : LayerRole(scope), min_weight_(cfg.min_weight) {
  declare_state("value", {.shape = Shape(dims.shape.begin(), dims.shape.end())});
  declare_state("count", {.dtype = DType::kI32});
}

Tensor MovingAverage::forward(const Tensor& x) {
  const Tensor count = state("count") + 1;
  const Tensor value = next_average(state("value"), x, count, min_weight_);
  if (is_training()) {
    set_state("value", value);
    set_state("count", count);
  }
  return value;
}

AXLE_REGISTER(MovingAverage::Dims)
AXLE_REGISTER(MovingAverage)

}  // namespace axle
