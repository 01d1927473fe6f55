#include "layers/attention/masks/segment_mask.h"

#include "config/register.h"
#include "ops/create.h"

namespace axle {

Tensor SegmentMask::operator()(const TokenPlaces& at) const {
  if (!at.query_segments) return full({1, 1}, true, DType::kPred);
  return at.same_segment();
}

AXLE_REGISTER(SegmentMask)

}  // namespace axle
