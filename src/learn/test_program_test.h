// Helpers for the tests of learn/: run traced functions over trees on host tensors with the
// interpreter.
#pragma once

#include <functional>

#include "base/tree.h"
#include "ir/host_tensor.h"
#include "nn/param.h"
#include "ops/elementwise/elementwise.h"
#include "transform/trace.h"

namespace axle {

using HostTree = Tree<HostTensor>;

/// Returns specs of parameters with the shapes and dtypes of these values.
inline Tree<ParamSpec> specs_of(const HostTree& params) {
  Tree<ParamSpec> specs;
  for (const auto& [path, value] : params) {
    specs.emplace(path, ParamSpec{.shape = value.shape(), .dtype = value.dtype()});
  }
  return specs;
}

inline HostTree run_trees(
    const std::function<Tree<Tensor>(const std::vector<Tree<Tensor>>&)>& function,
    const std::vector<HostTree>& arguments) {
  std::vector<HostTensor> flat;
  for (const HostTree& tree : arguments) {
    for (const auto& [path, value] : tree) flat.push_back(value);
  }
  std::vector<std::string> paths;
  const auto traced = [&](const Values& values) {
    std::vector<Tree<Tensor>> trees;
    auto next = values.begin();
    for (const HostTree& tree : arguments) {
      Tree<Tensor>& out = trees.emplace_back();
      for (const auto& [path, value] : tree) out.emplace(path, *next++);
    }
    Values results;
    for (const auto& [path, value] : function(trees)) {
      paths.push_back(path);
      results.push_back(value);
    }
    return results;
  };
  const std::vector<HostTensor> results = eval(traced, flat);
  HostTree out;
  for (size_t i = 0; i < results.size(); ++i) out.emplace(paths[i], results[i]);
  return out;
}

}  // namespace axle
