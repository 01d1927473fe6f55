// Which keys a query may see, as a function of their positions.
#pragma once

#include "config/describe.h"
#include "config/fn.h"
#include "config/ranged.h"
#include "ir/tensor.h"

namespace axle {

/// From positions of queries i32[.., T, 1] and of keys i32[.., 1, S] to a predicate [.., T, S]:
/// true where seen.
using AttentionMask = Fn<Tensor(const Tensor& query_positions, const Tensor& key_positions)>;

/// A query sees its own position and earlier ones.
struct CausalMask {
  Tensor operator()(const Tensor& query_positions, const Tensor& key_positions) const;
  AXLE_CONFIG(CausalMask)
};

/// A query sees its own position and the `window` positions before it.
struct SlidingWindowMask {
  /// How many positions back a query sees, beside its own.
  NonNegative<int64_t> window = 4096;
  Tensor operator()(const Tensor& query_positions, const Tensor& key_positions) const;
  AXLE_CONFIG(SlidingWindowMask, window)
};

}  // namespace axle
