// The core of reverse mode: one region, cloned with a tape. Everything else (grad, scan, remat,
// call) builds on it.
//
// Activity flows forwards from the differentiated inputs; only active ops go on the tape. The
// pullback walks the tape backwards and emits the vjp rule of each op that has a cotangent; what it
// emits carries Phase::kBackward.
#pragma once

#include <unordered_set>
#include <vector>

#include "ir/op_rules.h"

namespace axle {

/// A value set keyed by op result.
using TensorSet = std::unordered_set<Tensor, TensorHash, TensorSame>;

/// The values of `region` that depend smoothly on the parameters marked in `active`.
TensorSet active_values(const Region& region, const std::vector<bool>& active);

/// Clones `region` into the current one on `arguments`; the pullback gives cotangents of the
/// arguments (none where there is no influence, or where `active` is false).
Linearized linearize(const Region& region, const Values& arguments,
                     const std::vector<bool>& active);

/// a + b, where either may be none.
Tensor add_cotangents(const Tensor& a, const Tensor& b);
/// The cotangent, or zeros of the value's type.
Tensor instantiate(const Tensor& cotangent, const Type& type);

}  // namespace axle
