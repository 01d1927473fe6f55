#include "layers/attention/caches/kv_cache.h"

#include "config/register.h"
#include "ops/create.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/shape.h"

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

AXLE_REGISTER(KVCache::Dims)

}  // namespace axle
