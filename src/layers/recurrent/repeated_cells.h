// Equal cells one after another within each step, run as a scan.
#pragma once

#include "layers/recurrent/lstm_cell.h"

namespace axle {

/// y = `layer` applied num_layers times in each step, each time with its own parameters and state.
///
/// Parameters, layer state, the cell's state and what layers collect are those of the layer,
/// stacked along a leading dim of size num_layers. Layer i draws from fold_in(key, i).
/// Throws ConfigError at construction if the output dim differs from the input dim.
class RepeatedCells final : public RecurrentCell {
 public:
  struct Config {
    /// Number of cells.
    Required<Positive<int64_t>> num_layers = REQUIRED;
    /// Config of every cell.
    Child<RecurrentCell> layer = LSTMCell::Config{};
    AXLE_CONFIG(RepeatedCells, num_layers, layer)
  };
  RepeatedCells(const Config& cfg, const Dims& dims, const Scope& scope);
  Tree<ParamSpec> param_specs() const override;
  Tree<ParamSpec> state_specs() const override;
  Tree<Tensor> initialize(const random::Key& key) const override;
  Tree<CellStateSpec> state_specs_of(int64_t batch_size, DType dtype) const override;

 protected:
  CellStep step_forward(const Tensor& x_BI, const Tree<Tensor>& state) override;

 private:
  int64_t num_layers_;
  Handle<RecurrentCell> layer_;
};

}  // namespace axle
