// Long short-term memory.
//
// Letters in tensor names, for this file only:
//   B batch   I input dim   O output dim   H hidden dim
//
// Source: Hochreiter & Schmidhuber 1997, Neural Computation 9(8); the projection: Sak et al. 2014,
// arXiv 1402.1128, section 2.2.
#pragma once

#include "layers/dense/linear.h"
#include "layers/dense/multi_linear.h"
#include "layers/norms/norm.h"
#include "layers/recurrent/recurrent_cell.h"

namespace axle {

/// One step: i, f, g, o = norm(input_proj([x, m]));  c = sigmoid(f) * c + sigmoid(g) * tanh(i);
/// m = output_proj(sigmoid(o) * tanh(c));  y = m.
///
/// Shapes: x_BI f32|bf16 -> y_BO, dtype of x. State: m_BO in the dtype of x, c_BH f32.
/// Numerics: gates and c are computed in f32.
class LSTMCell final : public RecurrentCell {
 public:
  struct Config {
    /// Size H of the cell; none: the output dim, and no output_proj.
    std::optional<Positive<int64_t>> hidden_dim = {};
    /// Maps [x, m] to the four gates.
    Child<MultiProjection> input_proj = MultiLinear::Config{.bias = false};
    /// Maps the hidden dim to the output dim; unused without hidden_dim.
    Child<Projection> output_proj = Linear::Config{.bias = false};
    /// Norm of each gate; none: no norm.
    std::optional<Child<Norm>> norm = {};
    /// c is clipped to this absolute value; none: it is not clipped.
    std::optional<Positive<double>> max_cell_value = {};
    AXLE_CONFIG(LSTMCell, hidden_dim, input_proj, output_proj, norm, max_cell_value)
  };
  LSTMCell(const Config& cfg, const Dims& dims, const Scope& scope);
  Tree<CellStateSpec> state_specs_of(int64_t batch_size, DType dtype) const override;

 protected:
  CellStep step_forward(const Tensor& x_BI, const Tree<Tensor>& state) override;

 private:
  int64_t output_dim_, hidden_dim_;
  std::optional<double> max_cell_value_;
  Handle<MultiProjection> input_proj_;
  std::optional<Handle<Projection>> output_proj_;
  std::optional<Handle<Norm>> norm_;
};

}  // namespace axle
