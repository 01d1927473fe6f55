#include "layers/attention/caches/kv_cache.h"

#include "config/register.h"
#include "ops/create.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/dynamic_slice.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"

namespace axle {

MixerContext with_positions(const Tensor& x, MixerContext context) {
  if (!context.positions) context.positions = iota({x.dim(0), x.dim(1)}, 1);
  return context;
}

Tensor live_positions(const MixerContext& context) {
  const Tensor& positions_BT = *context.positions;
  if (!context.last_index) return positions_BT;
  const Tensor is_live = iota({1, positions_BT.dim(1)}, 1) <= expand_dims(*context.last_index, -1);
  return select(is_live, positions_BT, kNoPosition);
}

KeyValues append_and_look(Handle<KVCache>& cache, KeyValues fresh_BTKH, const MixerContext& placed,
                          bool goes_on, const AttentionMask* mask) {
  fresh_BTKH.segments_BS = placed.segment_ids;
  const KeyValues own = fresh_BTKH;
  const bool is_decoding = Invocation::current().options().decoding;
  if (is_decoding) fresh_BTKH.positions_BS = live_positions(placed);
  KeyValues all = cache(fresh_BTKH);
  const bool sees_own_alone = is_decoding && !goes_on && own.k_BSKH && mask && mask->is_causal();
  return sees_own_alone ? own : all;
}

void KVCache::check_result(const KeyValues& all_BSKH, const KeyValues& fresh_BTKH) const {
  // Another layer's keys may be the result where attention computes none.
  if (!fresh_BTKH.k_BSKH) return;
  const auto check = [&](const Tensor& all, const Tensor& fresh, std::string_view what) {
    Type expected = fresh.type();
    expected.dims[1] = kAnySize;
    expect_result(all, expected, what);
  };
  check(all_BSKH.k_BSKH, fresh_BTKH.k_BSKH, "keys");
  check(all_BSKH.v_BSKH, fresh_BTKH.v_BSKH, "values");
}

AXLE_REGISTER(KVCache::Dims)

template class LayerRole<KVCache, KVCache::Signature>;

StateSpec cached_token_spec(int64_t batch_size, int64_t num_places) {
  return {.type = {DType::kI32, {batch_size, num_places}},
          .mesh_axes = {{kBatchAxes, kReplicated}}};
}

Tensor append_rows(const Tensor& kept_BS, const Tensor& fresh_BT, const Tensor& starts_B) {
  const Tensor update = astype(fresh_BT, kept_BS.dtype());
  return starts_B.dim(0) == 1
             ? dynamic_update_slice_in_dim(kept_BS, update, reshape(starts_B, {}), 1)
             : batched_put_rows(kept_BS, starts_B, update);
}

}  // namespace axle
