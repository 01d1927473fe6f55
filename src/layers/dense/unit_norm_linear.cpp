#include "layers/dense/unit_norm_linear.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/reductions/reduce.h"

namespace axle {

UnitNormLinear::UnitNormLinear(const Config& cfg, const Dims& dims, const Scope& scope)
    : Projection(scope),
      weight_(param("weight", {.shape = {dims.input_dim, dims.output_dim},
                               .mesh_axes = {dims.input_axes, dims.output_axes}})),
      product_(child("product", cfg.product,
                     product_dims("...i,io->...o", *this, weight_, WeightUse::kOthersToo))) {
  if (cfg.bias) {
    bias_ = param("bias",
                  {.shape = {dims.output_dim}, .mesh_axes = {dims.output_axes}, .init = Zeros{}});
  }
}

Tensor UnitNormLinear::forward(const Tensor& x) {
  const Tensor weight = weight_();
  const Tensor wide = astype(weight, wide_dtype(weight.dtype()));
  const Tensor unit = wide * rsqrt(reduce_sum(wide * wide, {0}, true) + 1e-8);
  const Tensor y = product_(x, astype(unit, weight.dtype()));
  return bias_ ? y + (*bias_)() : y;
}

AXLE_REGISTER(UnitNormLinear)

}  // namespace axle
