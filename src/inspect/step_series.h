// Scalars of successive steps, stacked: what a training run gives beside its state.
#pragma once

#include <vector>

#include "base/tree.h"
#include "ir/host_tensor.h"

namespace axle {

class StepSeries {
 public:
  /// One element of each, of every step the same names.
  void add(const Tree<HostTensor>& scalars) {
    for (const auto& [name, value] : scalars)
      values_[name].push_back(static_cast<float>(value.at(0)));
  }
  /// f32[steps] of each name.
  Tree<HostTensor> stacked() const {
    Tree<HostTensor> out;
    for (const auto& [name, values] : values_)
      out.emplace(
          name, HostTensor({static_cast<int64_t>(values.size())}, std::span<const float>(values)));
    return out;
  }

 private:
  Tree<std::vector<float>> values_;
};

}  // namespace axle
