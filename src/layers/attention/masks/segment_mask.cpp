#include "layers/attention/masks/segment_mask.h"

#include "config/register.h"
#include "ops/create.h"
#include "ops/elementwise/compare.h"

namespace axle {

Tensor SegmentMask::operator()(const TokenPlaces& at) const {
  if (!at.query_segments) return full({1, 1}, true, DType::kPred);
  return equal(*at.query_segments, *at.key_segments);
}

AXLE_REGISTER(SegmentMask)

}  // namespace axle
