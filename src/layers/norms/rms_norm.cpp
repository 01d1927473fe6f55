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
      zero_centred_(cfg.zero_centred),
      scale_(param("scale",
                   {.shape = {dims.input_dim},
                    .init = zero_centred_ == ZeroCentred::kScale ? Init(Zeros{}) : Init(Ones{})})) {
}

Tensor RMSNorm::forward(const Tensor& x) {
  const Tensor wide = astype(x, wide_dtype(x.dtype()));
  const Tensor inverse_rms = rsqrt(mean(wide * wide, {-1}, true) + eps_);
  if (zero_centred_ == ZeroCentred::kScale) {
    // bf16 has few digits near 1, so that 1 + scale is computed in f32.
    return astype(wide * inverse_rms * (astype(scale_(), wide.dtype()) + 1), x.dtype());
  }
  const Tensor centred =
      zero_centred_ == ZeroCentred::kInput ? wide - mean(wide, {-1}, true) : wide;
  return astype(centred * inverse_rms, x.dtype()) * scale_();
}

AXLE_REGISTER(RMSNorm)

}  // namespace axle
