// Tracing of functions to graphs, and copies of graphs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/op_rules.h"
#include "ir/tensor.h"
#include "ir/value_map.h"

namespace axle {

// Tracing: turns a C++ function over tensors into a closed region.

/// A function over tensors. It may use tensors of enclosing traces, except in trace().
using TensorFunction = std::function<Values(const Values&)>;

/// Traces `fn` over parameters of these types into a new region. `fn` must not use outer tensors.
std::shared_ptr<Region> trace(const TensorFunction& fn, const std::vector<Type>& types,
                              const std::vector<std::string>& names = {});

/// A region traced inside the current one. Its leading parameters stand for the outer values that
/// it uses.
struct ClosedRegion {
  std::shared_ptr<const Region> region;
  Values captures;  // values of the current region, one for each leading parameter
  /// Returns the captures, then the arguments.
  Values operands(const Values& arguments) const;
};
/// Traces `fn` over parameters of these types inside the current trace. `fn` may use outer tensors.
ClosedRegion trace_closed(const TensorFunction& fn, const std::vector<Type>& types);

/// Copies the ops of `region` into the current region, with `arguments` for its parameters, and
/// returns the copies of its results.
Values inline_region(const Region& region, const Values& arguments);

/// Traces `fn` and interprets it, for tests, tools and small host computations.
std::vector<HostTensor> eval(const TensorFunction& fn, const std::vector<HostTensor>& arguments,
                             const EvalOptions& options = {});

// Copies ops from one region into another, with their effects or without (ir/tensor.h): taps and
// debug prints.

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
