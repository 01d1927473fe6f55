// Layers as pure functions.
#pragma once

#include <utility>

#include "nn/layer.h"

namespace axle {

/// Calls fn() inside an invocation of `layer`: {what it returns, what layers collected}. `fn` calls
/// the layer or any of its methods. The caller must take in the aux losses of the collection.
template <class Fn>
auto functional(const Layer& layer, Tree<Tensor> parameters, InvocationOptions options, Fn&& fn) {
  Invocation invocation(layer.path(), std::move(parameters), std::move(options));
  auto result = fn();
  return std::pair(std::move(result), std::move(invocation.collection()));
}

}  // namespace axle
