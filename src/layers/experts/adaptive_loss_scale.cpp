#include "layers/experts/adaptive_loss_scale.h"

#include "config/register.h"
#include "layers/moving_average.h"
#include "nn/statistic.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/reductions/reduce.h"

namespace axle {

AdaptiveLossScale::AdaptiveLossScale(const Config& cfg, const Dims&, const Scope& scope)
    : LayerRole(scope), cfg_(cfg) {
  declare_state("log_scale", {});
  declare_state("average", {});
  declare_state("count", {.dtype = DType::kI32});
}

Tensor AdaptiveLossScale::forward(const Tensor& dropped_K) {
  const Tensor overload =
      cfg_.overload == Overload::kMean ? mean(dropped_K) : reduce_max(dropped_K, {0});
  const Tensor count = state("count") + 1;
  const Tensor average =
      next_average(state("average"), stop_gradient(overload), count, *cfg_.min_weight);
  const Tensor is_high = astype(average > *cfg_.max_overload, DType::kF32);
  const Tensor is_low = astype(average < cfg_.min_overload, DType::kF32);
  const Tensor log_scale = state("log_scale") + cfg_.log_step * (is_high - is_low);
  if (is_training()) {
    const auto some = has_tokens();  // a batch of padding alone says nothing
    const auto update = [&](const char* name, const Tensor& value) {
      set_state(name, some ? select(*some, value, state(name)) : value);
    };
    update("count", count);
    update("average", average);
    update("log_scale", log_scale);
  }
  const Tensor scale = exp(log_scale);
  add_summary("overload", average);
  add_summary("scale", scale);
  return scale;
}

AXLE_REGISTER(AdaptiveLossScale::Dims)
AXLE_REGISTER(AdaptiveLossScale)

}  // namespace axle
