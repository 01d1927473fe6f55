// The common base of optimizers and gradient transforms. Each maps gradients and state to updates
// and new state, traced into the training program.
//
// Trees of gradients, parameters and updates are keyed by the paths of the parameters. State is
// keyed by "<name>/<path of the parameter>", relative to the module that owns it.
#pragma once

#include <string>
#include <string_view>

#include "base/tree.h"
#include "config/scope.h"
#include "nn/param.h"

namespace axle {

struct UpdateInputs {
  /// For a transform of Learner::update_transforms: the updates of the optimizer.
  const Tree<Tensor>& gradients;
  const Tree<Tensor>& params;
  const Tree<Tensor>& state;
  /// Number of this update, an i32 scalar; 1 for the first.
  Tensor step;
  /// Global norm of `gradients`; none if the caller does not know it. Use norm() to read it.
  Tensor gradient_norm = {};
  /// What Optimizer::measure returned in this step.
  Tree<Tensor> measured = {};

  /// Returns gradient_norm, or computes the global norm if that is none. An f32 scalar.
  Tensor norm() const;
};

struct UpdateOutputs {
  Tree<Tensor> updates = {};
  Tree<Tensor> state = {};
  /// f32 scalars for logs.
  Tree<Tensor> metrics = {};
};

class StatefulUpdate {
 public:
  struct Dims {
    const Tree<ParamSpec>& params;
    /// Parameters that are not trained: rules by path may name them, too.
    Tree<ParamSpec> frozen = {};
  };
  virtual ~StatefulUpdate() = default;

  /// Returns shape, dtype and mesh axes of the state. State of a parameter is sharded like the
  /// parameter.
  virtual Tree<ParamSpec> state_specs() const { return {}; }
  /// Traced: returns the state before the first update. The default draws it from the initialisers
  /// of state_specs().
  virtual Tree<Tensor> initialize(const Tree<Tensor>& params) const;
  /// Traced: returns updates and new state. Updates are f32.
  virtual UpdateOutputs update(const UpdateInputs& in) const = 0;
};

/// Calls stage.update(). Throws ShapeError, naming `where` and the class, unless it returns an
/// update of the shape of each gradient and the state of state_specs().
UpdateOutputs checked_update(const StatefulUpdate& stage, const UpdateInputs& in,
                             std::string_view where);
/// Calls stage.initialize() and checks the state in the same way.
Tree<Tensor> checked_initialize(const StatefulUpdate& stage, const Tree<Tensor>& params,
                                std::string_view where);

/// Returns "<path of the module>.<field>", for messages.
std::string field_path(const Scope& scope, std::string_view field);

/// Returns the scope of a part of the module, in its slot `field`.
Scope part_scope(const Scope& scope, std::string_view field);

/// Returns the specs of one f32 state for each parameter, with its shape and mesh axes and initial
/// value 0: "<name>/<path>".
Tree<ParamSpec> zero_state_specs(const Tree<ParamSpec>& params, std::string_view name);

/// Returns the square root of the sum of squares of all elements of all tensors: an f32 scalar.
Tensor global_norm(const Tree<Tensor>& tree);

}  // namespace axle
