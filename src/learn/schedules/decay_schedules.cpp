#include "learn/schedules/decay_schedules.h"

#include "config/register.h"
#include "learn/moments.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"

namespace axle {

Tensor AdafactorDecay::operator()(const Step& step) const {
  const Tensor t = maximum(astype(step, DType::kF32) - double(begin_step), 1);
  return 1.0 - pow(t, scalar(-exponent));
}

Tensor DebiasedDecay::operator()(const Step& step) const {
  return debiased_decay(decay, astype(step, DType::kF32));
}

AXLE_REGISTER(AdafactorDecay)
AXLE_REGISTER(DebiasedDecay)

}  // namespace axle
