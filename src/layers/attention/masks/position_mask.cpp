#include "layers/attention/masks/position_mask.h"

#include "config/register.h"
#include "layers/attention/masks/causal_mask.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/broadcast.h"
#include "ops/reductions/reduce.h"
#include "transform/trace.h"

namespace axle {

Tensor PositionMask::operator()(const TokenPlaces& at) const {
  const Tensor sees = sees_(at.query_positions, at.key_positions);
  // A wrong claim must not let decoding give other results than training.
  return causal_ ? sees & (at.query_positions >= at.key_positions) : sees;
}

Sight PositionMask::sight(const PlaceBlock& block) const {
  const Sight causal = causal_ ? CausalMask({}, {}, {}).sight(block) : Sight::kAll;
  if (causal == Sight::kNone || !block.may_evaluate) return both(causal, Sight::kSome);
  const int64_t T = block.query_end - block.query_begin, S = block.key_end - block.key_begin;
  const HostTensor count = eval(
      [&](const Values&) {
        const Tensor sees =
            (*this)({.query_positions = iota({T, 1}, 0) + static_cast<double>(block.query_begin),
                     .key_positions = iota({1, S}, 1) + static_cast<double>(block.key_begin)});
        return Values{sum(astype(broadcast_to(sees, {T, S}), DType::kI32))};
      },
      {})[0];
  const auto seen = static_cast<int64_t>(count.at(0));
  return seen == 0 ? Sight::kNone : seen == T * S ? Sight::kAll : Sight::kSome;
}

AXLE_REGISTER(PositionMask)

}  // namespace axle
