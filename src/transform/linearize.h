// The core of reverse mode: clones one region and records a tape. grad, scan, remat and call build
// on it.
//
// Activity propagates forwards from the differentiated inputs. Only active ops are recorded on the
// tape. The pullback walks the tape backwards and emits the vjp rule of each op that has a
// cotangent. The emitted ops have Phase::kBackward.
#pragma once

#include <vector>

#include "ir/op_rules.h"
#include "ir/value_map.h"

namespace axle {

/// Returns the floating-point values of `region` that depend, through differentiable ops, on the
/// parameters marked in `active`.
ValueSet active_values(const Region& region, const std::vector<bool>& active);
/// Marks the results of `region` that are such values.
std::vector<bool> active_results(const Region& region, const std::vector<bool>& active);

/// Clones the ops of `region` into the current region, with `arguments` for its parameters. The
/// pullback returns cotangents of the arguments: none if an argument has no influence or is not
/// marked in `active`.
Linearized linearize(const Region& region, const Values& arguments,
                     const std::vector<bool>& active);

/// While it lives, ops without reverse mode give a pullback that can only be transposed: jvp needs
/// no more of it.
class TransposedOnly {
 public:
  TransposedOnly() : outer_(is_on()) { is_on() = true; }
  ~TransposedOnly() { is_on() = outer_; }
  TransposedOnly(const TransposedOnly&) = delete;
  TransposedOnly& operator=(const TransposedOnly&) = delete;
  static bool& is_on();

 private:
  bool outer_;
};

/// Returns a + b, where a, b or both may be none.
Tensor add_cotangents(const Tensor& a, const Tensor& b);
/// Returns the cotangent, or zeros of `type` if it is none.
Tensor instantiate(const Tensor& cotangent, const Type& type);

}  // namespace axle
