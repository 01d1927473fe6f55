#include "layers/attention/masks/attention_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "config/register.h"
#include "config/walk.h"
#include "nn/invocation.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "transform/ranges.h"
#include "transform/trace.h"

namespace axle {

Tensor TokenPositions::same_segment() const {
  const Tensor& ids = *query_segments;
  return equal(select(equal(ids, 0), -1, ids), *key_segments);
}

TokenPositions TokenPositions::read(InputReader& inputs, const std::string& prefix) {
  return {.query_positions = inputs.required(prefix + "/query_positions"),
          .key_positions = inputs.required(prefix + "/key_positions"),
          .query_segments = inputs.optional(prefix + "/query_segments"),
          .key_segments = inputs.optional(prefix + "/key_segments"),
          .prefix_lengths = inputs.optional(prefix + "/prefix_lengths")};
}

Tensor CausalMask::operator()(const TokenPositions& at) const {
  return at.query_positions >= at.key_positions;
}

AXLE_REGISTER(CausalMask)

Tensor PrefixMask::operator()(const TokenPositions& at) const {
  if (at.prefix_lengths) return at.key_positions < *at.prefix_lengths;
  if (Invocation::current().options().training) {
    throw ConfigError(fmt::format(
        "{}: PrefixMask: expected a batch with prefix_lengths, got one without; set input.prompt, "
        "or take the mask out",
        path_));
  }
  return at.key_positions < 0;
}

AXLE_REGISTER(PrefixMask)

Tensor SegmentMask::operator()(const TokenPositions& at) const {
  if (!at.query_segments) return full({1, 1}, true, DType::kPred);
  return at.same_segment();
}

AXLE_REGISTER(SegmentMask)

namespace {

// Positions are i32, so a wider window is clamped to the range of i32.
int64_t as_i32(int64_t distance) {
  return std::min<int64_t>(distance, std::numeric_limits<int32_t>::max());
}

}  // namespace

Tensor SlidingWindowMask::operator()(const TokenPositions& at) const {
  const Tensor near = at.query_positions - at.key_positions <= as_i32(window_);
  return (at.query_positions >= at.key_positions) & near;
}

Tensor TwoSidedWindowMask::operator()(const TokenPositions& at) const {
  return (at.query_positions - at.key_positions <= as_i32(before_)) &
         (at.key_positions - at.query_positions <= as_i32(after_));
}

AXLE_REGISTER(SlidingWindowMask)
AXLE_REGISTER(TwoSidedWindowMask)

namespace {

// Where a mask is evaluated: most blocks show among their first queries that some see some keys.
constexpr int64_t kQueriesAtOnce = 64;

}  // namespace

Tensor PositionMask::operator()(const TokenPositions& at) const {
  const Tensor sees = sees_(at.query_positions, at.key_positions);
  // A wrong claim must not let decoding give other results than training.
  return causal_ ? sees & (at.query_positions >= at.key_positions) : sees;
}

Sight PositionMask::sight(const PositionBlock& block) const {
  const Sight causal = causal_ ? CausalMask({}, {}, {}).sight(block) : Sight::kAll;
  if (causal == Sight::kNone) return causal;
  const Sight by_ranges = sight_by_ranges(block);
  return by_ranges == Sight::kSome && block.may_evaluate ? sight_by_values(block) : by_ranges;
}

Sight PositionMask::sight_by_ranges(const PositionBlock& block) const {
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

Sight PositionMask::sight_by_values(const PositionBlock& block) const {
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

namespace {

using Masks = std::vector<Handle<AttentionMask>>;

Masks built(const std::vector<Child<AttentionMask>>& configs, const Scope& scope) {
  if (configs.empty()) {
    throw ConfigError(
        fmt::format("{}: expected at least one mask, got none; leave the mask of attention "
                    "out if every query sees every key",
                    join_config_path(scope.as_config(), "masks")));
  }
  Masks out;
  for (size_t i = 0; i < configs.size(); ++i) {
    const std::string field = fmt::format("masks[{}]", i);
    auto mask = configs[i].build({}, {.path = scope.path,
                                      .config_path = join_config_path(scope.as_config(), field),
                                      .construction = scope.construction});
    if (mask) out.emplace_back(std::move(mask));  // else its mistake is noted
  }
  return out;
}

template <class Combine>
Tensor combined(const Masks& masks, const TokenPositions& at, Combine combine) {
  Tensor out;
  for (const auto& mask : masks) {
    const Tensor own = (*mask)(at);
    out = out ? combine(out, own) : own;
  }
  return out;
}

bool is_causal(const Handle<AttentionMask>& mask) { return mask->is_causal(); }
bool sees_itself(const Handle<AttentionMask>& mask) { return mask->sees_itself(); }
bool can_decode(const Handle<AttentionMask>& mask) { return mask->can_decode(); }

}  // namespace

AllOf::AllOf(const Config& cfg, const Dims&, const Scope& scope)
    : masks_(built(cfg.masks, scope)) {}

Tensor AllOf::operator()(const TokenPositions& at) const {
  return combined(masks_, at, [](const Tensor& a, const Tensor& b) { return a & b; });
}
bool AllOf::is_causal() const { return std::ranges::any_of(masks_, axle::is_causal); }
bool AllOf::sees_itself() const { return std::ranges::all_of(masks_, axle::sees_itself); }
bool AllOf::can_decode() const {
  return is_causal() || std::ranges::all_of(masks_, axle::can_decode);
}
Sight AllOf::sight(const PositionBlock& block) const {
  Sight out = Sight::kAll;
  for (const auto& mask : masks_) out = both(out, mask->sight(block));
  return out;
}
std::vector<const AttentionMask*> AllOf::conjuncts() const {
  std::vector<const AttentionMask*> out;
  for (const auto& mask : masks_) {
    for (const AttentionMask* part : mask->conjuncts()) out.push_back(part);
  }
  return out;
}

AnyOf::AnyOf(const Config& cfg, const Dims&, const Scope& scope)
    : masks_(built(cfg.masks, scope)) {}

Tensor AnyOf::operator()(const TokenPositions& at) const {
  return combined(masks_, at, [](const Tensor& a, const Tensor& b) { return a | b; });
}
bool AnyOf::is_causal() const { return std::ranges::all_of(masks_, axle::is_causal); }
bool AnyOf::sees_itself() const { return std::ranges::any_of(masks_, axle::sees_itself); }
bool AnyOf::can_decode() const { return std::ranges::all_of(masks_, axle::can_decode); }
Sight AnyOf::sight(const PositionBlock& block) const {
  Sight out = Sight::kNone;
  for (const auto& mask : masks_) out = either(out, mask->sight(block));
  return out;
}

AXLE_REGISTER(AllOf)
AXLE_REGISTER(AnyOf)

Tensor first_distance(const TokenPositions& positions) {
  const auto first = [](const Tensor& x) { return reshape(slice_in_dim(flatten(x), 0, 0, 1), {}); };
  return first(positions.key_positions) - first(positions.query_positions);
}

// One slice does it: rows of M - 1 elements begin one element earlier each than rows of M.
Tensor aligned_by_distance(const Tensor& x_TM, int64_t num_keys) {
  const int64_t T = x_TM.dim(-2), M = x_TM.dim(-1);
  const Tensor cut = slice_in_dim(flatten(x_TM, -2), -1, T - 1, T * M - 1);
  return slice_in_dim(unflatten(cut, -1, {T, M - 1}), -1, 0, num_keys);
}

}  // namespace axle
