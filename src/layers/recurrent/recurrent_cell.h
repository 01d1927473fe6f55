// The role RecurrentCell: layers that go over a sequence one step at a time, and their scan.
//
// Letters in tensor names, for this file only:
//   T steps   B batch   I input dim   O output dim
#pragma once

#include "nn/layer.h"

namespace axle {

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
  /// bool[T, B]: a row starts anew, from the zero state, at the steps that are true. None: never.
  std::optional<Tensor> starts = {};
  /// bool[T, B]: a row keeps its state at the steps that are false, which are padding. None: there
  /// is no padding.
  std::optional<Tensor> counts = {};
  /// i32[T, B]: the segment ids (Invocation::segment_ids) of the layers inside, which see those of
  /// their step, i32[B]. None: the layers count every row.
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

}  // namespace axle
