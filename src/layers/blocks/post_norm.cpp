#include "layers/blocks/post_norm.h"

#include "config/register.h"

namespace axle {

Tensor PostNorm::forward(const Tensor& x_BTD, const MixerContext& context) {
  const Tensor y_BTD = body_(constrain(x_BTD, kTokenAxes), context);
  return norm_(joined(x_BTD, y_BTD), context.segment_ids);
}

AXLE_REGISTER(PostNorm)

}  // namespace axle
