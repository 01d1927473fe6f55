// What loops over equal layers share: their parameters lie stacked along a leading dim.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nn/layer.h"

namespace axle {

/// Flattens a tree to operands of a scan and rebuilds it from the slices of one iteration.
struct FlatTree {
  std::vector<std::string> paths;
  Values values;

  void add(const std::string& path, const Tensor& value) {
    paths.push_back(path);
    values.push_back(value);
  }
  Tree<Tensor> slices(Values::const_iterator& at) const {
    Tree<Tensor> out;
    for (const std::string& path : paths) out.emplace(path, *at++);
    return out;
  }
};

/// Returns the specs with a leading dim of size n. The dim is replicated over the mesh and does not
/// count for fans.
Tree<ParamSpec> stacked(Tree<ParamSpec> specs, int64_t n);
Tree<StateSpec> stacked(Tree<StateSpec> specs, int64_t n);

/// Returns the path of the first parameter with too many elements for a tensor, and its size:
/// "<path> f32[..] takes .. bytes, more than any machine has". None: all can be made.
std::optional<std::string> uncountable_text(const Tree<ParamSpec>& specs);

/// Emits the initial values of n layers like `layer`, stacked: a scan. The keys are those that n
/// children of a layer get, in order.
Tree<Tensor> initialize_stacked(const Layer& layer, const random::Key& key, int64_t n);

}  // namespace axle
