// The common base of optimizers and gradient transforms. Each maps gradients and state to updates
// and new state, traced into the training program.
//
// Trees of gradients, parameters and updates are keyed by the paths of the parameters. State is
// keyed by "<name>/<path of the parameter>", relative to the module that owns it.
#pragma once

#include <string>
#include <string_view>

#include "base/tree.h"
#include "config/config_type.h"
#include "ir/tensor.h"
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

// Moving means of gradients, as Adam and its relatives keep them.
//
// Source: Kingma & Ba 2015, arXiv 1412.6980, sections 2 and 3.

/// Returns the specs of the moving means of gradients and of their squares: "m/<path>", "v/<path>".
Tree<ParamSpec> moment_specs(const Tree<ParamSpec>& params);
/// Returns decay * mean + (1 - decay) * x.
Tensor moving_mean(double decay, const Tensor& mean, const Tensor& x);
Tensor moving_mean(const Tensor& decay, const Tensor& mean, const Tensor& x);
/// Returns 1 / (1 - decay^step), the factor that makes a moving mean that began at 0 unbiased.
/// `step` is an f32 scalar from 1 on.
Tensor bias_correction(double decay, const Tensor& step);
/// Returns the decay that makes a moving mean unbiased while it runs:
/// decay * (1 - decay^(step - 1)) / (1 - decay^step). It is 0 at step 1, so that the mean starts at
/// the first value.
///
/// Source: Shazeer & Stern 2018, arXiv 1804.04235, section 7.1.
Tensor debiased_decay(double decay, const Tensor& step);

}  // namespace axle
