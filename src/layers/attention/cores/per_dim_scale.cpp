#include "layers/attention/cores/per_dim_scale.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/reductions/softmax.h"

namespace axle {

PerDimScale::PerDimScale(const Config&, const Dims& dims, const Scope& scope)
    : LayerRole(scope), scale_(param("scale", {.shape = {dims.head_dim}, .init = Zeros{}})) {}

Tensor PerDimScale::forward(const Tensor& x) {
  const Tensor factor = softplus(astype(scale_(), DType::kF32)) / std::log(2.0);
  return x * astype(factor, x.dtype());
}

AXLE_REGISTER(PerDimScale::Dims)
AXLE_REGISTER(PerDimScale)

}  // namespace axle
