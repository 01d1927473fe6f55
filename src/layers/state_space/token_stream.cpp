#include "layers/state_space/token_stream.h"

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"

namespace axle {

TokenStream TokenStream::of(const Tensor& x, const MixerContext& context) {
  TokenStream out{.segments_BT = context.segment_ids, .last_B = context.last_index};
  if (!context.last_index) return out;
  const Tensor index_1T = iota({1, x.dim(1)}, 1), last_B1 = expand_dims(*context.last_index, -1);
  out.live_BT = index_1T <= last_B1;
  if (out.segments_BT)
    out.segments_BT = take_along_axis(*out.segments_BT, minimum(index_1T, last_B1), 1);
  return out;
}

Tensor TokenStream::without_padding(const Tensor& x) const {
  if (!live_BT) return x;
  Tensor live = *live_BT;
  while (live.rank() < x.rank()) live = expand_dims(live, -1);
  return select(broadcast_to(live, x.shape()), x, 0);
}

Tree<StateSpec> recurrence_state_specs(std::string_view path, int64_t batch_size, Shape dims,
                                       const DimAxes& axes) {
  dims.insert(dims.begin(), batch_size);
  return {{join_path(path, "state"),
           {.type = {DType::kF32, std::move(dims)}, .mesh_axes = {{kBatchAxes, axes}}}},
          {join_path(path, "segment"),
           {.type = {DType::kI32, {batch_size}}, .mesh_axes = {{kBatchAxes}}}}};
}

}  // namespace axle
