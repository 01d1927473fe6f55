#include "layers/dense/multi_linear.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"

namespace axle {

MultiLinear::MultiLinear(const Config& cfg, const Dims& dims, const Scope& scope)
    : MultiProjection(scope),
      weight_(param("weight", {.shape = {dims.input_dim, dims.num_outputs, dims.output_dim},
                               .mesh_axes = {dims.input_axes, kReplicated, dims.output_axes},
                               .fan = {.in = {-3}, .out = {-2, -1}}})),
      product_(child("product", cfg.product, product_dims("...i,ino->...no", *this, weight_))) {
  if (cfg.bias) {
    bias_ = param("bias", {.shape = {dims.num_outputs, dims.output_dim},
                           .mesh_axes = {kReplicated, dims.output_axes},
                           .init = Zeros{}});
  }
}

Tensor MultiLinear::forward(const Tensor& x) {
  const Tensor y = product_(x, weight_());
  return bias_ ? y + (*bias_)() : y;
}

AXLE_REGISTER(MultiLinear)

}  // namespace axle
