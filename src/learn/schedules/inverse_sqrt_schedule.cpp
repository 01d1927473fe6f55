#include "learn/schedules/inverse_sqrt_schedule.h"

#include <cmath>

#include "config/register.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"

namespace axle {

Tensor InverseSqrt::operator()(const Step& step) const {
  const auto last = static_cast<double>(warmup_steps);
  const Tensor t = astype(step, DType::kF32) - static_cast<double>(begin_step);
  const Tensor fall = scale * pow(maximum(t, last), scalar(-exponent));
  if (warmup == WarmupShape::kConstant) return fall;
  return fall * (minimum(maximum(t, 0), last) / last);
}

AXLE_REGISTER(InverseSqrt)

}  // namespace axle
