// Calls layers as pure functions.
#pragma once

#include <utility>

#include "nn/layer.h"

namespace axle {

/// Calls fn() inside an invocation of `layer` and returns {result of fn, what the layers
/// collected}. `fn` calls the layer or any of its methods. The caller must add the aux losses of
/// the collection to its objective.
template <class Fn>
auto functional(const Layer& layer, Tree<Tensor> parameters, InvocationOptions options, Fn&& fn) {
  Invocation invocation(layer.path(), std::move(parameters), std::move(options));
  auto result = fn();
  return std::pair(std::move(result), std::move(invocation.collection()));
}

}  // namespace axle
