#include "layers/attention/caches/cached_rows.h"

#include "ops/elementwise/convert.h"
#include "ops/movement/dynamic_slice.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"

namespace axle {

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
