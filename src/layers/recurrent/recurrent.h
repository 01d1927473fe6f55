// A recurrent cell as a mixer.
//
// Letters in tensor names:
//   B batch   T positions   D model dim
#pragma once

#include "layers/dense/linear.h"
#include "layers/mixer.h"
#include "layers/norms/norm.h"
#include "nn/layer.h"

namespace axle {

// The role RecurrentCell: layers that go over a sequence one step at a time, and their scan.
//
// Letters in tensor names from here on:
//   T steps   B batch   I input dim   O output dim

/// The result of one step.
struct CellStep {
  Tensor y;  // y_BO
  /// The state after the step, by name.
  Tree<Tensor> state = {};

  template <class F>
  void each_field(F&& fn) {
    fn("y", y);
    fn("state", state);
  }
};

/// One tensor of the state between steps.
struct CellStateSpec {
  Type type;
  /// The dim of the rows of the batch.
  int64_t batch_axis = 0;
};

/// What is known of the steps: which of them go on from the step before, and which are padding.
struct CellSteps {
  /// bool[T, B]: a row restarts from the zero state at the steps that are true. None: never.
  std::optional<Tensor> starts = {};
  /// bool[T, B]: a row keeps its state at the steps that are false, which are padding. None: there
  /// is no padding.
  std::optional<Tensor> counts = {};
  /// i32[T, B]: the segment ids (Invocation::segment_ids) of the layers inside, which see the ids
  /// of their step, i32[B]. None: the layers count every row.
  std::optional<Tensor> segment_ids = {};
};

/// x_TBI -> y_TBO, dtype of x: a scan of steps from the zero state. Time comes first.
///
/// Step t draws from fold_in(key, t). What the layers inside collect is stacked along a leading dim
/// of size T; their state changes from step to step.
/// Outputs: "final_state/<name>", the state after the last step.
/// Throws ConfigError if it is called while decoding: run() takes the state of earlier calls.
class RecurrentCell : public LayerRole<RecurrentCell, Tensor(const Tensor& x_TBI)> {
 public:
  /// The sizes, given by the parent layer.
  struct Dims {
    /// Size of the last dim of x.
    Positive<int64_t> input_dim;
    /// Size of the last dim of y.
    Positive<int64_t> output_dim;
    AXLE_CONFIG(Dims, input_dim, output_dim)
  };
  static constexpr InputNames kInputs = {"x"};
  static constexpr InputVectors kVectors = {&Dims::input_dim, 3};
  static constexpr InputNames kStepInputs = {"x", "state"};
  using LayerRole::LayerRole;

  /// Returns the state between steps, by name, for inputs of this dtype.
  virtual Tree<CellStateSpec> state_specs_of(int64_t batch_size, DType dtype) const = 0;
  /// Returns the state before the first step: zeros.
  Tree<Tensor> zero_state(int64_t batch_size, DType dtype) const;
  /// Takes one step from `state`. Throws ConfigError unless it has the names of state_specs_of.
  CellStep step(const Tensor& x_BI, const Tree<Tensor>& state);
  /// Takes T steps from `state`. Returns y_TBO and the last state.
  CellStep run(const Tensor& x_TBI, Tree<Tensor> state, const CellSteps& steps = {});

  bool can_decode() const override { return true; }
  std::vector<Method> methods() override;

 protected:
  virtual CellStep step_forward(const Tensor& x_BI, const Tree<Tensor>& state) = 0;
  Tensor forward(const Tensor& x_TBI) override;
  friend LayerRole;
  /// Of one step or of several.
  void check_result(const Tensor& y, const Tensor& x) const;

 private:
  // Returns the step, whose result must have the type of the role.
  CellStep checked_step(const Tensor& x_BI, const Tree<Tensor>& state);
  CellStep scan_steps(const Tensor& x_TBI, Tree<Tensor> state, const CellSteps& steps);
};

extern template class LayerRole<RecurrentCell, RecurrentCell::Signature>;

// Long short-term memory.
//
// Letters in tensor names from here on:
//   B batch   I input dim   O output dim   H hidden dim
//
// Source: Hochreiter & Schmidhuber 1997, Neural Computation 9(8); the projection: Sak et al. 2014,
// arXiv 1402.1128, section 2.2.

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

/// y = `layer` applied num_layers times in each step, each time with its own parameters and state.
///
/// Parameters, layer state, the cell's state and what layers collect are the layer's,
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

/// Goes over the positions of each row with a recurrent cell.
///
/// Shapes: x_BTD f32|bf16 -> y_BTD, dtype of x.
/// Each text of a packed row starts from the zero state: at positions 0 or, without positions,
/// where the segment id changes.
/// Decode state: the state of the cell, "state/<name>".
class Recurrent final : public Mixer {
 public:
  struct Config {
    /// The cell, from the model dim to the model dim.
    Child<RecurrentCell> cell = LSTMCell::Config{};
    AXLE_CONFIG(Recurrent, cell)
  };
  Recurrent(const Config& cfg, const Dims& dims, const Scope& scope);
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  Handle<RecurrentCell> cell_;
};

}  // namespace axle
