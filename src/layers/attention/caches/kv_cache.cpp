#include "layers/attention/caches/kv_cache.h"

#include "config/register.h"
#include "ops/create.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/shape.h"

namespace axle {

void KVCache::check_result(const KeyValues& kept_BSKH, const KeyValues& fresh_BTKH) const {
  const Tensor& keys = kept_BSKH.k_BSKH;
  const auto check = [&](const Tensor& kept, const Tensor& fresh, std::string_view what) {
    const bool is_given = static_cast<bool>(fresh);  // `!` is an op of tensors
    if (!is_given) return;
    Shape dims = fresh.shape();
    if (keys && keys.rank() > 1) dims[1] = keys.dim(1);
    expect_dims(kept, dims, what);
  };
  check(keys, fresh_BTKH.k_BSKH, "keys with the heads of the fresh ones");
  check(kept_BSKH.v_BSKH, fresh_BTKH.v_BSKH,
        "values with the heads of the fresh ones, one for each key");
}

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
