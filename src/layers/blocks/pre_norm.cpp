#include "layers/blocks/pre_norm.h"

#include "config/register.h"

namespace axle {

Tensor PreNorm::forward(const Tensor& x_BTD, const MixerContext& context) {
  // The norm may run on a sequence that is sharded over more axes than the body allows
  // (SequenceParallel).
  const Tensor normed_BTD = constrain(norm_(x_BTD, context.segment_ids), kTokenAxes);
  const Tensor y_BTD = body_(normed_BTD, context);
  return joined(x_BTD, y_BTD);
}

AXLE_REGISTER(PreNorm)

}  // namespace axle
