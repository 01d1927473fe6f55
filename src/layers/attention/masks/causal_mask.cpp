#include "layers/attention/masks/causal_mask.h"

#include "config/register.h"
#include "ops/elementwise/compare.h"

namespace axle {

Tensor CausalMask::operator()(const TokenPlaces& at) const {
  return at.query_positions >= at.key_positions;
}

AXLE_REGISTER(CausalMask)

}  // namespace axle
