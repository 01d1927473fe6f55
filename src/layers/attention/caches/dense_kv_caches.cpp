#include "layers/attention/caches/dense_kv_caches.h"

#include "config/register.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/products/scaled_integers.h"

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
