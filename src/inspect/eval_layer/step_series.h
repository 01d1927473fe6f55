// Stacks the metrics that eval-layer reports for several steps.
#pragma once

#include <vector>

#include "base/tree.h"
#include "ir/host_tensor.h"

namespace axle {

class StepSeries {
 public:
  /// Adds the metrics of a step. Every step must have the same names and shapes.
  void add(const Tree<HostTensor>& step) {
    for (const auto& [name, value] : step) {
      Series& series = series_[name];
      series.shape = value.shape();
      for (int64_t i = 0; i < value.size(); ++i)
        series.values.push_back(static_cast<float>(value.at(i)));
    }
    ++num_steps_;
  }
  /// Returns f32[steps, ...] for each name.
  Tree<HostTensor> stacked() const {
    Tree<HostTensor> out;
    for (const auto& [name, series] : series_) {
      Shape shape = series.shape;
      shape.insert(shape.begin(), num_steps_);
      out.emplace(name, HostTensor(std::move(shape), std::span<const float>(series.values)));
    }
    return out;
  }

 private:
  struct Series {
    Shape shape = {};  // of one step
    std::vector<float> values = {};
  };
  Tree<Series> series_;
  int64_t num_steps_ = 0;
};

}  // namespace axle
