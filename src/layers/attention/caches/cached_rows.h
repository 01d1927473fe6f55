// State that caches with a place for every position share.
//
// Letters in tensor names, for this file only:
//   B batch   T new positions   S positions of the cache
#pragma once

#include "layers/mesh_axes.h"
#include "nn/layer.h"

namespace axle {

/// Returns the state of one number, i32, for each place of a cache.
StateSpec cached_token_spec(int64_t batch_size, int64_t num_places);
/// Returns kept_BS with fresh_BT, converted to its dtype, in row b from place starts[b] on.
Tensor append_rows(const Tensor& kept_BS, const Tensor& fresh_BT, const Tensor& starts_B);

}  // namespace axle
