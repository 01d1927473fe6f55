// Cells one after another within each step.
#pragma once

#include "layers/recurrent/lstm_cell.h"

namespace axle {

/// y = layer<n-1>(.. layer1(layer0(x))) in each step. The state of layer i is "layer<i>/<name>".
///
/// Throws ConfigError at construction if `layers` is empty, or if `dims` has not an entry for each
/// layer but the last.
class StackedCells final : public RecurrentCell {
 public:
  struct Config {
    /// The cells, in order.
    std::vector<Child<RecurrentCell>> layers = {};
    /// Output dims of all cells but the last; empty: that of the stack.
    std::vector<Positive<int64_t>> dims = {};
    AXLE_CONFIG(StackedCells, layers, dims)
  };
  StackedCells(const Config& cfg, const Dims& dims, const Scope& scope);
  Tree<CellStateSpec> state_specs_of(int64_t batch_size, DType dtype) const override;

 protected:
  CellStep step_forward(const Tensor& x_BI, const Tree<Tensor>& state) override;

 private:
  std::vector<Handle<RecurrentCell>> layers_;
};

}  // namespace axle
