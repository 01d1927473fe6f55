#include "layers/linear.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/products/dot.h"

namespace axle {

Linear::Linear(const Config& cfg, const Dims& dims, const Scope& scope)
    : Projection(scope),
      weight_(param("weight", {.shape = {dims.input_dim, dims.output_dim},
                               .mesh_axes = {dims.input_axes, dims.output_axes}})) {
  if (cfg.bias) {
    bias_ = param("bias",
                  {.shape = {dims.output_dim}, .mesh_axes = {dims.output_axes}, .init = Zeros{}});
  }
}

Tensor Linear::forward(const Tensor& x) {
  const Tensor y = dot(x, weight_());
  return bias_ ? y + (*bias_)() : y;
}

AXLE_REGISTER(Linear)

}  // namespace axle
