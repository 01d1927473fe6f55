#include "layers/dense/linear.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"

namespace axle {

Linear::Linear(const Config& cfg, const Dims& dims, const Scope& scope)
    : Projection(scope),
      weight_(param("weight", {.shape = {dims.input_dim, dims.output_dim},
                               .mesh_axes = {dims.input_axes, dims.output_axes}})),
      product_(child("product", cfg.product, product_dims("...i,io->...o", *this, weight_))) {
  if (cfg.bias) {
    bias_ = param("bias",
                  {.shape = {dims.output_dim}, .mesh_axes = {dims.output_axes}, .init = Zeros{}});
  }
}

Tensor Linear::forward(const Tensor& x) {
  const Tensor y = product_(x, weight_());
  return bias_ ? y + (*bias_)() : y;
}

AXLE_REGISTER(Linear)

}  // namespace axle
