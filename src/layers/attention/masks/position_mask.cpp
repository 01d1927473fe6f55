#include "layers/attention/masks/position_mask.h"

#include <algorithm>
#include <array>
#include <optional>

#include "config/register.h"
#include "layers/attention/masks/causal_mask.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/broadcast.h"
#include "ops/reductions/reduce.h"
#include "transform/ranges.h"
#include "transform/trace.h"

namespace axle {
namespace {

// Where a mask is evaluated: most blocks show among their first queries that some see some keys.
constexpr int64_t kQueriesAtOnce = 64;

}  // namespace

Tensor PositionMask::operator()(const TokenPlaces& at) const {
  const Tensor sees = sees_(at.query_positions, at.key_positions);
  // A wrong claim must not let decoding give other results than training.
  return causal_ ? sees & (at.query_positions >= at.key_positions) : sees;
}

Sight PositionMask::sight(const PlaceBlock& block) const {
  const Sight causal = causal_ ? CausalMask({}, {}, {}).sight(block) : Sight::kAll;
  if (causal == Sight::kNone) return causal;
  const Sight by_ranges = sight_by_ranges(block);
  return by_ranges == Sight::kSome && block.may_evaluate ? sight_by_values(block) : by_ranges;
}

Sight PositionMask::sight_by_ranges(const PlaceBlock& block) const {
  std::call_once(is_traced_, [&] {
    const Type position{DType::kI32, {1, 1}};
    traced_ = trace(
        [&](const Values& x) {
          return Values{(*this)({.query_positions = x[0], .key_positions = x[1]})};
        },
        {position, position});
  });
  const auto positions = [](int64_t begin, int64_t end) {
    return ValueRange{static_cast<double>(begin), static_cast<double>(end - 1)};
  };
  const ValueRange sees =
      ranges_of_results(*traced_, std::array{positions(block.query_begin, block.query_end),
                                             positions(block.key_begin, block.key_end)})[0];
  return sees.high == 0 ? Sight::kNone : sees.low == 1 ? Sight::kAll : Sight::kSome;
}

Sight PositionMask::sight_by_values(const PlaceBlock& block) const {
  const int64_t S = block.key_end - block.key_begin;
  std::optional<Sight> so_far;
  for (int64_t begin = block.query_begin; begin < block.query_end; begin += kQueriesAtOnce) {
    const int64_t T = std::min(kQueriesAtOnce, block.query_end - begin);
    const HostTensor count = eval(
        [&](const Values&) {
          const Tensor sees =
              (*this)({.query_positions = iota({T, 1}, 0) + static_cast<double>(begin),
                       .key_positions = iota({1, S}, 1) + static_cast<double>(block.key_begin)});
          return Values{sum(astype(broadcast_to(sees, {T, S}), DType::kI32))};
        },
        {})[0];
    const auto seen = static_cast<int64_t>(count.at(0));
    const Sight own = seen == 0 ? Sight::kNone : seen == T * S ? Sight::kAll : Sight::kSome;
    if (own == Sight::kSome || own != so_far.value_or(own)) return Sight::kSome;
    so_far = own;
  }
  return *so_far;
}

AXLE_REGISTER(PositionMask)

}  // namespace axle
