#include "layers/norms/rms_norm.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/reductions/reduce.h"

namespace axle {

RMSNorm::RMSNorm(const Config& cfg, const Dims& dims, const Scope& scope)
    : Norm(scope),
      eps_(cfg.eps),
      scale_(param("scale", {.shape = {dims.input_dim}, .init = Ones{}})) {}

Tensor RMSNorm::forward(const Tensor& x) {
  const Tensor wide = astype(x, wide_dtype(x.dtype()));
  const Tensor normed = wide * rsqrt(mean(wide * wide, {-1}, true) + eps_);
  return astype(normed, x.dtype()) * scale_();
}

AXLE_REGISTER(RMSNorm)

}  // namespace axle
