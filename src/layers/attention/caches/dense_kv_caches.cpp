#include "layers/attention/caches/dense_kv_caches.h"

#include "config/register.h"
#include "layers/attention/caches/kv_cache.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/products/dot.h"
#include "ops/products/scaled_integers.h"

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

Tree<StateSpec> DenseKVCache::kept_specs(const std::string& name, int64_t size,
                                         const DecodeDims& dims) const {
  return {{name,
           {.type = {dims.dtype, {dims.batch_size, dims.max_len, num_kv_heads(), size}},
            .mesh_axes = kWholeSequenceAxes}}};
}

Tensor DenseKVCache::append(const std::string& name, const Tensor& fresh_BT,
                            const Tensor& starts_B) {
  return astype(append_to_state(name, fresh_BT, starts_B), fresh_BT.dtype());
}

AXLE_REGISTER(DenseKVCache)

Tree<StateSpec> QuantizedKVCache::kept_specs(const std::string& name, int64_t size,
                                             const DecodeDims& dims) const {
  Shape shape = {dims.batch_size, dims.max_len, num_kv_heads()};
  const StateSpec scale{.type = {DType::kF32, shape},
                        .mesh_axes = {{kBatchAxes, kReplicated, kShardAxes}}};
  shape.push_back(size);
  return {{name, {.type = {DType::kI8, shape}, .mesh_axes = kWholeSequenceAxes}},
          {name + "_scale", scale}};
}

Tensor QuantizedKVCache::append(const std::string& name, const Tensor& fresh_BTKH,
                                const Tensor& starts_B) {
  const auto [integers, scale] = to_integers(astype(fresh_BTKH, DType::kF32), {3});
  const Tensor kept = append_to_state(name, integers, starts_B);
  const Tensor scales = append_to_state(name + "_scale", squeeze(scale, {3}), starts_B);
  return astype(astype(kept, DType::kF32) * expand_dims(scales, -1), fresh_BTKH.dtype());
}

AXLE_REGISTER(QuantizedKVCache)

SharedKVCache::SharedKVCache(const Config& cfg, const Dims& dims, const Scope& scope)
    : KVCache(scope), name_(cfg.name), inner_(child("inner", cfg.inner, dims)) {}

KeyValues SharedKVCache::forward(const KeyValues& fresh_BTKH) {
  KeyValues all = inner_(fresh_BTKH);
  all.each_field([&](std::string_view field, std::optional<Tensor> value) {
    if (value) publish(join_path(name_, field), *value);
  });
  return all;
}

KeyValues BorrowedKVCache::forward(const KeyValues&) {
  return {.k_BSKH = published(name_ + "/key"),
          .v_BSKH = published(name_ + "/value"),
          .positions_BS = find_published(name_ + "/positions"),
          .segments_BS = find_published(name_ + "/segments")};
}

AXLE_REGISTER(SharedKVCache)
AXLE_REGISTER(BorrowedKVCache)

}  // namespace axle
