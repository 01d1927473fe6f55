#include "layers/attention/kv_cache.h"

#include "config/register.h"
#include "layers/mesh_axes.h"
#include "ops/create.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/dynamic_slice.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

namespace axle {

KeyValues KeyValues::read(InputReader& inputs, const std::string& prefix) {
  return {inputs.required(prefix + "/key"), inputs.required(prefix + "/value")};
}

Tree<StateSpec> DenseKVCache::decode_state_specs(const DecodeDims& dims) const {
  const StateSpec spec{
      .type = {dims.dtype, {dims.batch_size, dims.max_len, dims_.num_kv_heads, dims_.head_dim}},
      .mesh_axes = {{kBatchAxes, kReplicated, kShardAxes, kReplicated}}};
  return {{join_path(path(), "key"), spec}, {join_path(path(), "value"), spec}};
}

// Writes the new positions of row b from position starts[b] on and returns the whole state.
Tensor DenseKVCache::append(std::string_view state_name, const Tensor& fresh_BTKH,
                            const Tensor& starts_B) {
  const Tensor kept_BSKH = state(state_name);
  const Tensor update = astype(fresh_BTKH, kept_BSKH.dtype());
  const Tensor all_BSKH = starts_B.dim(0) == 1 ? dynamic_update_slice_in_dim(
                                                     kept_BSKH, update, reshape(starts_B, {}), 1)
                                               : batched_put_rows(kept_BSKH, starts_B, update);
  set_state(state_name, all_BSKH);
  return astype(all_BSKH, fresh_BTKH.dtype());
}

KeyValues DenseKVCache::forward(const KeyValues& fresh_BTKH, const Tensor& positions_BT) {
  const Tensor starts_B = index_in_dim(positions_BT, 1, 0);
  return {append("key", fresh_BTKH.k_BSKH, starts_B), append("value", fresh_BTKH.v_BSKH, starts_B)};
}

AXLE_REGISTER(KVCache::Dims)
AXLE_REGISTER(DenseKVCache)

}  // namespace axle
