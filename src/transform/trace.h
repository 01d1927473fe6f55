// Tracing: turns a C++ function over tensors into a closed region.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/op_rules.h"
#include "ir/tensor.h"

namespace axle {

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

}  // namespace axle
