#include "layers/attention/masks/prefix_mask.h"

#include "config/register.h"
#include "ops/create.h"
#include "ops/elementwise/compare.h"

namespace axle {

Tensor PrefixMask::operator()(const TokenPlaces& at) const {
  return at.key_positions < (at.prefix_lengths ? *at.prefix_lengths : scalar(0, DType::kI32));
}

AXLE_REGISTER(PrefixMask)

}  // namespace axle
