#include "layers/attention/caches/dense_kv_cache.h"

#include "config/register.h"
#include "layers/attention/caches/cached_rows.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/slice.h"

namespace axle {

Tree<StateSpec> DenseKVCache::decode_state_specs(const DecodeDims& dims) const {
  const auto heads = [&](int64_t size) {
    return StateSpec{
        .type = {dims.dtype, {dims.batch_size, dims.max_len, dims_.num_kv_heads, size}},
        .mesh_axes = kCachedHeadAxes};
  };
  return {{join_path(path(), "key"), heads(dims_.head_dim)},
          {join_path(path(), "value"), heads(dims_.value_size())},
          {join_path(path(), "segment"), cached_token_spec(dims.batch_size, dims.max_len)}};
}

// Writes the new positions of row b from position starts[b] on and returns the whole state.
Tensor DenseKVCache::append(std::string_view state_name, const Tensor& fresh_BT,
                            const Tensor& starts_B) {
  const Tensor all_BS = append_rows(state(state_name), fresh_BT, starts_B);
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
