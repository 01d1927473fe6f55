#include "layers/attention/caches/row_kv_cache.h"

#include "layers/attention/caches/cached_rows.h"
#include "ops/movement/slice.h"

namespace axle {

Tree<StateSpec> RowKVCache::decode_state_specs(const DecodeDims& dims) const {
  Tree<StateSpec> out = {
      {join_path(path(), "segment"), cached_token_spec(dims.batch_size, dims.max_len)}};
  for (const auto& [name, size] :
       {std::pair("key", int64_t{dims_.head_dim}), std::pair("value", dims_.value_size())}) {
    for (auto& [state_name, spec] : kept_specs(name, size, dims))
      out.emplace(join_path(path(), state_name), std::move(spec));
  }
  return out;
}

KeyValues RowKVCache::forward(const KeyValues& fresh_BTKH) {
  if (!decoding()) return fresh_BTKH;
  const Tensor starts_B = index_in_dim(*fresh_BTKH.positions_BS, 1, 0);
  KeyValues all{.k_BSKH = append("key", fresh_BTKH.k_BSKH, starts_B),
                .v_BSKH = append("value", fresh_BTKH.v_BSKH, starts_B)};
  if (fresh_BTKH.segments_BS)
    all.segments_BS = append_to_state("segment", *fresh_BTKH.segments_BS, starts_B);
  else
    set_state("segment", state("segment"));
  return all;
}

Tensor RowKVCache::append_to_state(const std::string& name, const Tensor& fresh_BT,
                                   const Tensor& starts_B) {
  const Tensor all_BS = append_rows(state(name), fresh_BT, starts_B);
  set_state(name, all_BS);
  return all_BS;
}

}  // namespace axle
