#include "layers/recurrent/lstm_cell.h"

#include "config/register.h"
#include "layers/mesh_axes.h"
#include "ops/elementwise/activations.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/trigonometry.h"
#include "ops/movement/slice.h"

namespace axle {

LSTMCell::LSTMCell(const Config& cfg, const Dims& dims, const Scope& scope)
    : RecurrentCell(scope),
      output_dim_(dims.output_dim),
      hidden_dim_(cfg.hidden_dim.value_or(dims.output_dim)),
      max_cell_value_(cfg.max_cell_value),
      input_proj_(child("input_proj", cfg.input_proj,
                        {.input_dim = dims.input_dim + dims.output_dim,
                         .num_outputs = 4,
                         .output_dim = hidden_dim_,
                         .output_axes = kShardAxes})) {
  if (cfg.hidden_dim) {
    output_proj_ = child("output_proj", cfg.output_proj,
                         {.input_dim = hidden_dim_, .output_dim = dims.output_dim});
  }
  norm_ = child("norm", cfg.norm, {.input_dim = hidden_dim_});
}

Tree<CellStateSpec> LSTMCell::state_specs_of(int64_t batch_size, DType dtype) const {
  return {{"m", {.type = {dtype, {batch_size, output_dim_}}}},
          {"c", {.type = {wide_dtype(dtype), {batch_size, hidden_dim_}}}}};
}

CellStep LSTMCell::step_forward(const Tensor& x_BI, const Tree<Tensor>& state) {
  const Tensor &m_BO = state.at("m"), &c_BH = state.at("c");
  Tensor gates_B4H = input_proj_(concatenate({x_BI, astype(m_BO, x_BI.dtype())}, -1));
  if (norm_) gates_B4H = (*norm_)(gates_B4H);
  gates_B4H = astype(gates_B4H, c_BH.dtype());
  const auto gate = [&](int64_t i) { return index_in_dim(gates_B4H, 1, i); };
  const Tensor input = tanh(gate(0));
  const Tensor kept = sigmoid(gate(1)) * c_BH;
  Tensor new_c_BH = kept + sigmoid(gate(2)) * input;
  if (max_cell_value_) new_c_BH = clamp(-*max_cell_value_, new_c_BH, *max_cell_value_);
  Tensor y_BO = astype(sigmoid(gate(3)) * tanh(new_c_BH), x_BI.dtype());
  if (output_proj_) y_BO = (*output_proj_)(y_BO);
  return {.y = y_BO, .state = {{"m", astype(y_BO, m_BO.dtype())}, {"c", new_c_BH}}};
}

AXLE_REGISTER(LSTMCell)

}  // namespace axle
