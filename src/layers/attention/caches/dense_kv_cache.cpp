#include "layers/attention/caches/dense_kv_cache.h"

#include "config/register.h"
#include "layers/mesh_axes.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/dynamic_slice.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

namespace axle {

Tree<StateSpec> DenseKVCache::decode_state_specs(const DecodeDims& dims) const {
  const StateSpec heads{
      .type = {dims.dtype, {dims.batch_size, dims.max_len, dims_.num_kv_heads, dims_.head_dim}},
      .mesh_axes = {{kBatchAxes, kReplicated, kShardAxes, kReplicated}}};
  const StateSpec segment{.type = {DType::kI32, {dims.batch_size, dims.max_len}},
                          .mesh_axes = {{kBatchAxes, kReplicated}}};
  return {{join_path(path(), "key"), heads},
          {join_path(path(), "value"), heads},
          {join_path(path(), "segment"), segment}};
}

// Writes the new positions of row b from position starts[b] on and returns the whole state.
Tensor DenseKVCache::append(std::string_view state_name, const Tensor& fresh_BT,
                            const Tensor& starts_B) {
  const Tensor kept_BS = state(state_name);
  const Tensor update = astype(fresh_BT, kept_BS.dtype());
  const Tensor all_BS = starts_B.dim(0) == 1
                            ? dynamic_update_slice_in_dim(kept_BS, update, reshape(starts_B, {}), 1)
                            : batched_put_rows(kept_BS, starts_B, update);
  set_state(state_name, all_BS);
  return astype(all_BS, fresh_BT.dtype());
}

KeyValues DenseKVCache::forward(const KeyValues& fresh_BTKH) {
  if (!decoding()) return fresh_BTKH;
  const Tensor starts_B = index_in_dim(*fresh_BTKH.positions_BS, 1, 0);
  KeyValues all{.k_BSKH = append("key", fresh_BTKH.k_BSKH, starts_B),
                .v_BSKH = append("value", fresh_BTKH.v_BSKH, starts_B)};
  if (fresh_BTKH.segments_BS)
    all.segments_BS = append("segment", *fresh_BTKH.segments_BS, starts_B);
  else
    set_state("segment", state("segment"));
  return all;
}

AXLE_REGISTER(DenseKVCache)

}  // namespace axle
