#include "layers/blocks/hybrid_norm.h"

#include "config/register.h"

namespace axle {

Tensor HybridNorm::forward(const Tensor& x_BTD, const MixerContext& context) {
  const Tensor normed_BTD = constrain(norm_(x_BTD, context.segment_ids), kTokenAxes);
  const Tensor y_BTD = body_(normed_BTD, context);
  return joined(x_BTD, post_norm_(y_BTD, context.segment_ids));
}

AXLE_REGISTER(HybridNorm)

}  // namespace axle
