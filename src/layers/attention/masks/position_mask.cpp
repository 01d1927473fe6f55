#include "layers/attention/masks/position_mask.h"

#include "config/register.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"

namespace axle {

Tensor PositionMask::operator()(const TokenPlaces& at) const {
  const Tensor sees = sees_(at.query_positions, at.key_positions);
  // A wrong claim must not let decoding give other results than training.
  return causal_ ? sees & (at.query_positions >= at.key_positions) : sees;
}

AXLE_REGISTER(PositionMask)

}  // namespace axle
