// Tracing: from a C++ function over tensors to a closed region.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/eval.h"
#include "ir/tensor.h"

namespace axle {

/// A function over tensors; it may use tensors of enclosing traces.
using TensorFunction = std::function<Values(const Values&)>;

/// Traces `fn` over parameters of these types into a region of its own (no outer values allowed).
std::shared_ptr<Region> trace(const TensorFunction& fn, const std::vector<Type>& types,
                              const std::vector<std::string>& names = {});

/// A region traced inside the current one: the outer values that it uses come first in its
/// parameters.
struct ClosedRegion {
  std::shared_ptr<const Region> region;
  Values captures;  // values of the current region, one for each leading parameter
  /// The captures, then the arguments.
  Values operands(const Values& arguments) const;
};
ClosedRegion trace_closed(const TensorFunction& fn, const std::vector<Type>& types);

/// Copies the ops of `region` into the current one, with `arguments` for its parameters; returns
/// its results.
Values inline_region(const Region& region, const Values& arguments);

/// From values of one region to those that stand for them in another.
using TensorMap = std::unordered_map<Tensor, Tensor, TensorHash, TensorSame>;
/// Emits a copy of `op` into the current region, under its own layer path, and enters its results
/// into `map` (results that are there already are kept).
void clone_op(const OpNode& op, TensorMap& map);
/// The image of each value.
Values map_all(const TensorMap& map, const Values& values);

/// Traces and interprets: for tests, tools and small host computations.
std::vector<HostTensor> eval(const TensorFunction& fn, const std::vector<HostTensor>& arguments,
                             const EvalOptions& options = {});

}  // namespace axle
