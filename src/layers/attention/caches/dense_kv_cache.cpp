#include "layers/attention/caches/dense_kv_cache.h"

#include "config/register.h"
#include "layers/attention/caches/cached_rows.h"
#include "ops/elementwise/convert.h"

namespace axle {

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

}  // namespace axle
