// Copies ops from one region into another.
#pragma once

#include "ir/value_map.h"

namespace axle {

/// Maps values of one region to their copies in the region that is being traced.
class Copies {
 public:
  Copies() = default;
  /// Copies each of `values` as the value at the same place of `copies`.
  Copies(const Values& values, const Values& copies);

  /// Throws InternalError for a value without a copy.
  const Tensor& at(const Tensor& value) const { return copies_.at(value); }
  Values all(const Values& values) const;
  bool contains(const Tensor& value) const { return copies_.contains(value); }
  /// Records a copy, in place of an earlier one.
  void set(const Tensor& value, const Tensor& copy) { copies_[value] = copy; }
  /// Records the copies of the results of `op`; empty ones are left out.
  void set_results(const OpNode& op, const Values& copies);
  /// Emits a copy of `op`, with its layer path, into the current region. Copies of results that are
  /// recorded already stay. Returns the new op.
  const OpNode& clone(const OpNode& op);

 private:
  ValueMap<Tensor> copies_;
};

}  // namespace axle
