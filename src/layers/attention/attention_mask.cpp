#include "layers/attention/attention_mask.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"

namespace axle {

Tensor CausalMask::operator()(const Tensor& query_positions, const Tensor& key_positions) const {
  return query_positions >= key_positions;
}

Tensor SlidingWindowMask::operator()(const Tensor& query_positions,
                                     const Tensor& key_positions) const {
  // Positions are i32, so a wider window is clamped to the range of i32.
  const Tensor near = query_positions - key_positions <=
                      std::min<int64_t>(window_, std::numeric_limits<int32_t>::max());
  return (query_positions >= key_positions) & near;
}

AXLE_REGISTER(CausalMask)
AXLE_REGISTER(SlidingWindowMask)

}  // namespace axle
