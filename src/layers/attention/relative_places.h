// Values of distances, laid out for queries and keys whose positions follow one another.
#pragma once

#include "layers/attention/masks/attention_mask.h"

namespace axle {

/// Returns the distance from the first query to the first key, key position - query position, an
/// i32 scalar. Needs `places.are_consecutive`.
Tensor first_distance(const TokenPlaces& places);
/// Returns element [.., t, T - 1 + s - t] of x, [.., T, M], for each query t and key s, as
/// [.., T, S]: row t is shifted by T - 1 - t elements. M is at least T + S - 1, or S + 1 where
/// elements beyond the end of a row, which are then elements of the next, do not count.
Tensor aligned_by_distance(const Tensor& x_TM, int64_t num_keys);

}  // namespace axle
