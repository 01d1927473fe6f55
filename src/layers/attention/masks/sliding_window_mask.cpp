#include "layers/attention/masks/sliding_window_mask.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"

namespace axle {
namespace {

// Positions are i32, so a wider window is clamped to the range of i32.
int64_t as_i32(int64_t distance) {
  return std::min<int64_t>(distance, std::numeric_limits<int32_t>::max());
}

}  // namespace

Tensor SlidingWindowMask::operator()(const TokenPlaces& at) const {
  const Tensor near = at.query_positions - at.key_positions <= as_i32(window_);
  return (at.query_positions >= at.key_positions) & near;
}

Tensor TwoSidedWindowMask::operator()(const TokenPlaces& at) const {
  return (at.query_positions - at.key_positions <= as_i32(before_)) &
         (at.key_positions - at.query_positions <= as_i32(after_));
}

AXLE_REGISTER(SlidingWindowMask)
AXLE_REGISTER(TwoSidedWindowMask)

}  // namespace axle
