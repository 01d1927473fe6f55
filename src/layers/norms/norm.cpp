#include "layers/norms/norm.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "nn/statistic.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"

namespace axle {

Tensor Norm::forward(const Tensor&) {
  throw InternalError(fmt::format("{}: expected a norm that overrides forward, got none", path()));
}

AXLE_REGISTER(Norm::Dims)

template class LayerRole<Norm, Norm::Signature>;

Moments moments_of_real(const Tensor& x, const std::vector<int64_t>& axes,
                        const std::optional<Tensor>& is_real) {
  const Tensor mean = mean_of_real(x, axes, is_real);
  const Tensor centred = x - mean;
  return {mean, mean_of_real(centred * centred, axes, is_real)};
}

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

Tensor L2Norm::forward(const Tensor& x) {
  const Tensor wide = astype(x, wide_dtype(x.dtype()));
  return astype(wide * rsqrt(reduce_sum(wide * wide, {-1}, true) + eps_), x.dtype());
}

AXLE_REGISTER(L2Norm)

}  // namespace axle
