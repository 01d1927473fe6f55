#include "layers/attention/caches/quantized_kv_cache.h"

#include "config/register.h"
#include "layers/attention/caches/cached_rows.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/rounding.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/reductions/reduce.h"

namespace axle {
namespace {

constexpr double kLargest = 127;

}  // namespace

Tree<StateSpec> QuantizedKVCache::decode_state_specs(const DecodeDims& dims) const {
  const auto heads = [&](int64_t size) {
    return StateSpec{
        .type = {DType::kI8, {dims.batch_size, dims.max_len, dims_.num_kv_heads, size}},
        .mesh_axes = kCachedHeadAxes};
  };
  const StateSpec scale{.type = {DType::kF32, {dims.batch_size, dims.max_len, dims_.num_kv_heads}},
                        .mesh_axes = {{kBatchAxes, kReplicated, kShardAxes}}};
  return {{join_path(path(), "key"), heads(dims_.head_dim)},
          {join_path(path(), "key_scale"), scale},
          {join_path(path(), "value"), heads(dims_.value_size())},
          {join_path(path(), "value_scale"), scale},
          {join_path(path(), "segment"), cached_token_spec(dims.batch_size, dims.max_len)}};
}

Tensor QuantizedKVCache::append_numbers(const std::string& name, const Tensor& fresh_BT,
                                        const Tensor& starts_B) {
  const Tensor all_BS = append_rows(state(name), fresh_BT, starts_B);
  set_state(name, all_BS);
  return all_BS;
}

Tensor QuantizedKVCache::append(const std::string& name, const Tensor& fresh_BTKH,
                                const Tensor& starts_B) {
  const Tensor wide = astype(fresh_BTKH, DType::kF32);
  const Tensor largest_BTK = reduce_max(abs(wide), {-1});
  // A head of zeros has the scale 1.
  const Tensor scale_BTK = select(largest_BTK > 0, largest_BTK / kLargest, 1);
  const Tensor integers = round_nearest_even(wide / expand_dims(scale_BTK, -1));
  const Tensor kept = append_numbers(name, integers, starts_B);
  const Tensor scales = append_numbers(name + "_scale", scale_BTK, starts_B);
  return astype(astype(kept, DType::kF32) * expand_dims(scales, -1), fresh_BTKH.dtype());
}

KeyValues QuantizedKVCache::forward(const KeyValues& fresh_BTKH) {
  if (!decoding()) return fresh_BTKH;
  const Tensor starts_B = index_in_dim(*fresh_BTKH.positions_BS, 1, 0);
  KeyValues all{.k_BSKH = append("key", fresh_BTKH.k_BSKH, starts_B),
                .v_BSKH = append("value", fresh_BTKH.v_BSKH, starts_B)};
  if (fresh_BTKH.segments_BS)
    all.segments_BS = append_numbers("segment", *fresh_BTKH.segments_BS, starts_B);
  else
    set_state("segment", state("segment"));
  return all;
}

AXLE_REGISTER(QuantizedKVCache)

}  // namespace axle
