#include "layers/norms/layer_norm.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/reductions/reduce.h"

namespace axle {

LayerNorm::LayerNorm(const Config& cfg, const Dims& dims, const Scope& scope)
    : Norm(scope),
      eps_(cfg.eps),
      scale_(param("scale", {.shape = {dims.input_dim}, .init = Ones{}})),
      bias_(param("bias", {.shape = {dims.input_dim}, .init = Zeros{}})) {}

Tensor LayerNorm::forward(const Tensor& x) {
  const Tensor wide = astype(x, wide_dtype(x.dtype()));
  const Tensor centred = wide - mean(wide, {-1}, true);
  const Tensor normed = centred * rsqrt(mean(centred * centred, {-1}, true) + eps_);
  return astype(normed, x.dtype()) * scale_() + bias_();
}

AXLE_REGISTER(LayerNorm)

}  // namespace axle
