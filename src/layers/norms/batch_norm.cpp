#include "layers/norms/batch_norm.h"

#include "config/register.h"
#include "layers/norms/moments.h"
#include "nn/real_tokens.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/movement/shape.h"
#include "ops/reductions/reduce.h"

namespace axle {

BatchNorm::BatchNorm(const Config& cfg, const Dims& dims, const Scope& scope)
    : Norm(scope),
      cfg_(cfg),
      scale_(param("scale", {.shape = {dims.input_dim}, .init = Ones{}})),
      bias_(param("bias", {.shape = {dims.input_dim}, .init = Zeros{}})) {
  declare_state("moving_mean", {.shape = {dims.input_dim}});
  declare_state("moving_variance", {.shape = {dims.input_dim}, .init = Ones{}});
}

Tensor BatchNorm::forward(const Tensor& x, const std::optional<Tensor>& segment_ids) {
  const Tensor wide = astype(x, wide_dtype(x.dtype()));
  Moments moments{state("moving_mean"), state("moving_variance")};
  if (is_training()) {
    std::vector<int64_t> axes = all_axes(x);
    axes.pop_back();
    const auto is_real = real_tokens(wide, segment_ids);
    // A batch without a token has no statistics.
    const Tensor has_any = is_real ? reduce_or(*is_real, all_axes(*is_real)) : Tensor();
    const auto moved = [&](const char* name, const Tensor& of_batch) {
      const Tensor old = state(name), value = astype(flatten(of_batch), old.dtype());
      const Tensor next = cfg_.decay * old + (1 - cfg_.decay) * value;
      set_state(name, is_real ? select(has_any, next, old) : next);
    };
    moments = moments_of_real(wide, axes, is_real);
    moved("moving_mean", moments.mean);
    moved("moving_variance", moments.variance);
  }
  const Tensor centred = wide - astype(moments.mean, wide.dtype());
  const Tensor normed = centred * rsqrt(astype(moments.variance, wide.dtype()) + cfg_.eps);
  return astype(normed, x.dtype()) * scale_() + bias_();
}

AXLE_REGISTER(BatchNorm)

}  // namespace axle
