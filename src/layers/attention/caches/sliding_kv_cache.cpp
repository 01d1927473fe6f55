#include "layers/attention/caches/sliding_kv_cache.h"

#include <fmt/format.h>

#include "config/register.h"
#include "layers/attention/caches/cached_rows.h"
#include "layers/attention/masks/sliding_window_mask.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/reductions/reduce.h"

namespace axle {
namespace {

// The places of a ring of W positions after T new tokens.
class Ring {
 public:
  // `positions_BT` of the new tokens; kNoPosition marks padding.
  Ring(const Tensor& positions_BT, const Tensor& places_BW)
      : start_B1_(slice_in_dim(positions_BT, 1, 0, 1)), places_BW_(places_BW) {
    const int64_t window = places_BW.dim(1), num_new = positions_BT.dim(1);
    const Tensor last_B1 =
        reduce_max(select(equal(positions_BT, kNoPosition), -1, positions_BT), {1}, true);
    // Place j gets the last position that is j modulo W.
    const Tensor behind_BW = last_B1 - iota({1, window}, 1);
    const Tensor steps_BW = behind_BW - behind_BW / window * window;
    position_BW_ = last_B1 - select(steps_BW < 0, steps_BW + window, steps_BW);
    is_new_BW_ = position_BW_ >= start_B1_;
    source_BW_ = clamp(0, position_BW_ - start_B1_, num_new - 1);
  }
  // Returns the positions that the ring held before the call. Entries of an earlier text in the
  // same row are empty.
  Tensor old_positions() const {
    const Tensor position_BW = places_BW_ - 1;
    const Tensor is_old = (position_BW >= 0) & (position_BW < start_B1_);
    return select(is_old, position_BW, kNoPosition);
  }
  Tensor new_places() const { return select(is_new_BW_, position_BW_ + 1, places_BW_); }
  // Returns kept[B, W, ..] with the new tokens fresh[B, T, ..] in their places.
  Tensor updated(const Tensor& kept, const Tensor& fresh) const {
    Tensor is_new = is_new_BW_;
    while (is_new.rank() < kept.rank()) is_new = expand_dims(is_new, -1);
    return select(broadcast_to(is_new, kept.shape()),
                  batched_take(astype(fresh, kept.dtype()), source_BW_), kept);
  }

 private:
  Tensor start_B1_, places_BW_, position_BW_, is_new_BW_, source_BW_;
};

}  // namespace

// A place for each position is enough: the ring of a window that is larger never comes round.
Tree<StateSpec> SlidingKVCache::decode_state_specs(const DecodeDims& dims) const {
  const int64_t num_places = std::min(window_, dims.max_len);
  const auto heads = [&](int64_t size) {
    return StateSpec{.type = {dims.dtype, {dims.batch_size, num_places, dims_.num_kv_heads, size}},
                     .mesh_axes = kWholeSequenceAxes};
  };
  return {{join_path(path(), "key"), heads(dims_.head_dim)},
          {join_path(path(), "value"), heads(dims_.value_size())},
          {join_path(path(), "place"), cached_token_spec(dims.batch_size, num_places)},
          {join_path(path(), "segment"), cached_token_spec(dims.batch_size, num_places)}};
}

void SlidingKVCache::check_mask(const AttentionMask* mask) const {
  int64_t seen = std::numeric_limits<int64_t>::max();
  if (mask) {
    for (const AttentionMask* part : mask->conjuncts()) {
      if (const auto* window = dynamic_cast<const SlidingWindowMask*>(part))
        seen = std::min(seen, window->window());
      if (const auto* window = dynamic_cast<const TwoSidedWindowMask*>(part))
        seen = std::min(seen, window->before());
    }
  }
  if (seen > window_) {
    const std::string got = seen == std::numeric_limits<int64_t>::max()
                                ? "a mask without a window"
                                : fmt::format("one of {}", seen);
    fail("window", fmt::format("expected a mask with a window of at most {} positions, got {}; use "
                               "SlidingWindowMask, a larger window, or DenseKVCache",
                               window_, got));
  }
}

KeyValues SlidingKVCache::forward(const KeyValues& fresh_BTKH) {
  if (!decoding()) return fresh_BTKH;
  const Tensor& positions_BT = *fresh_BTKH.positions_BS;
  const Ring ring(positions_BT, state("place"));
  set_state("place", ring.new_places());
  const auto append = [&](std::string_view name, const Tensor& fresh) {
    const Tensor kept = state(name);
    set_state(name, ring.updated(kept, fresh));
    return concatenate({astype(kept, fresh.dtype()), fresh}, 1);
  };
  KeyValues all{.k_BSKH = append("key", fresh_BTKH.k_BSKH),
                .v_BSKH = append("value", fresh_BTKH.v_BSKH),
                .positions_BS = concatenate({ring.old_positions(), positions_BT}, 1)};
  if (fresh_BTKH.segments_BS)
    all.segments_BS = append("segment", *fresh_BTKH.segments_BS);
  else
    set_state("segment", state("segment"));
  return all;
}

AXLE_REGISTER(SlidingKVCache)

}  // namespace axle
