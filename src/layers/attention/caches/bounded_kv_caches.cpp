#include "layers/attention/caches/bounded_kv_caches.h"

#include <fmt/format.h>

#include "config/register.h"
#include "layers/attention/caches/dense_kv_caches.h"
#include "layers/attention/masks/attention_mask.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"

namespace axle {

Tree<StateSpec> PagedKVCache::decode_state_specs(const DecodeDims& dims) const {
  const int64_t size = cfg_.page_size, per_row = (dims.max_len + size - 1) / size;
  const int64_t num_pages = cfg_.num_pages.value_or(dims.batch_size * per_row);
  const auto pages = [&](int64_t head_dim) {
    return StateSpec{.type = {dims.dtype, {num_pages, size, dims_.num_kv_heads, head_dim}},
                     .mesh_axes = {{kReplicated, kReplicated, kShardAxes, kReplicated}}};
  };
  return {{join_path(path(), "key_pages"), pages(dims_.head_dim)},
          {join_path(path(), "value_pages"), pages(dims_.value_size())},
          {join_path(path(), "page_table"), cached_token_spec(dims.batch_size, per_row)},
          {join_path(path(), "num_used"), {.type = {DType::kI32, {}}}},
          {join_path(path(), "segment"), cached_token_spec(dims.batch_size, per_row * size)}};
}

void PagedKVCache::check_room(std::span<const int64_t> lengths) const {
  if (!cfg_.num_pages) return;
  const int64_t size = cfg_.page_size;
  int64_t needed = 0;
  for (const int64_t length : lengths) needed += (length + size - 1) / size;
  if (needed <= *cfg_.num_pages) return;
  fail("num_pages",
       fmt::format("expected at least {} pages of {} tokens for {} sequences at once, got {}; set "
                   "more pages, or start fewer or shorter sequences",
                   needed, size, lengths.size(), int64_t{*cfg_.num_pages}));
}

// Takes pages for the new positions and returns the table, in which 0 means no page.
Tensor PagedKVCache::page_table(const Tensor& positions_BT) {
  const Tensor table_BP = state("page_table"), num_used = state("num_used");
  const Tensor last_B1 =
      reduce_max(select(equal(positions_BT, kNoPosition), -1, positions_BT), {1}, true);
  const Tensor is_needed = iota({1, table_BP.dim(1)}, 1) * int64_t{cfg_.page_size} <= last_B1;
  const Tensor is_taken = astype(is_needed & equal(table_BP, 0), DType::kI32);
  const Tensor rank = reshape(cumsum(flatten(is_taken), 0), table_BP.shape());
  const Tensor all_BP = select(is_taken > 0, num_used + rank, table_BP);
  set_state("page_table", all_BP);
  set_state("num_used", num_used + sum(is_taken));
  return all_BP;
}

KeyValues PagedKVCache::forward(const KeyValues& fresh_BTKH) {
  if (!decoding()) return fresh_BTKH;
  const Tensor& positions_BT = *fresh_BTKH.positions_BS;
  const int64_t page_size = cfg_.page_size;
  const Tensor table_BP = page_table(positions_BT);
  const Tensor page_BT = batched_take(table_BP, positions_BT / page_size) - 1;
  const Tensor offset_BT = positions_BT - positions_BT / page_size * page_size;
  const auto append = [&](std::string_view name, const Tensor& fresh) {
    const Tensor pool = state(name);
    const Tensor flat = flatten(pool, 0, 1);
    // Tokens without an entry have distinct indices beyond the pool, which are dropped.
    const Tensor is_kept =
        (page_BT >= 0) & (page_BT < pool.dim(0)) & (positions_BT < table_BP.dim(1) * page_size);
    const Tensor nowhere =
        reshape(iota({page_BT.dim(0) * page_BT.dim(1)}, 0), page_BT.shape()) + flat.dim(0);
    const Tensor index_BT = select(is_kept, page_BT * page_size + offset_BT, nowhere);
    const Tensor all = reshape(set_at(flat, index_BT, astype(fresh, pool.dtype())), pool.shape());
    set_state(name, all);
    return astype(flatten(take(all, maximum(table_BP - 1, 0)), 1, 2), fresh.dtype());
  };
  KeyValues out{.k_BSKH = append("key_pages", fresh_BTKH.k_BSKH),
                .v_BSKH = append("value_pages", fresh_BTKH.v_BSKH)};
  if (fresh_BTKH.segments_BS) {
    out.segments_BS =
        append_rows(state("segment"), *fresh_BTKH.segments_BS, index_in_dim(positions_BT, 1, 0));
  }
  set_state("segment", out.segments_BS ? *out.segments_BS : state("segment"));
  return out;
}

AXLE_REGISTER(PagedKVCache)

namespace {

// The entries of a ring of W positions after T new tokens.
class Ring {
 public:
  // `positions_BT` of the new tokens; kNoPosition marks padding.
  Ring(const Tensor& positions_BT, const Tensor& places_BW)
      : start_B1_(slice_in_dim(positions_BT, 1, 0, 1)), places_BW_(places_BW) {
    const int64_t window = places_BW.dim(1), num_new = positions_BT.dim(1);
    const Tensor last_B1 =
        reduce_max(select(equal(positions_BT, kNoPosition), -1, positions_BT), {1}, true);
    // Entry j gets the last position that is j modulo W.
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
  // Returns kept[B, W, ..] with the new tokens fresh[B, T, ..] at their indices.
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

// An entry for each position is enough: the ring of a larger window never wraps around.
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
