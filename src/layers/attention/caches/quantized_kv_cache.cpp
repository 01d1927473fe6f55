#include "layers/attention/caches/quantized_kv_cache.h"

#include "config/register.h"
#include "layers/attention/caches/cached_rows.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/shape.h"
#include "ops/products/scaled_integers.h"

namespace axle {

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

}  // namespace axle
