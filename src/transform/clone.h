// Copies ops from one region into another, with their effects or without (ir/tensor.h): taps and
// debug prints.
#pragma once

#include <memory>

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

/// Returns a copy of the region in which no op has an effect, neither in the region nor in the
/// bodies of its ops. A result of a removed op becomes the operand of that op. A region without
/// effects is returned as it is.
std::shared_ptr<const Region> without_effects(std::shared_ptr<const Region> region);
/// Clones an op like Copies::clone, and removes the effects from the clone's regions.
void clone_without_effects(const OpNode& op, Copies& copies);

}  // namespace axle
