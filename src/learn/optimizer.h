// The role Optimizer: computes the updates of the parameters from the gradients.
#pragma once

#include "config/fields/child.h"
#include "learn/stateful_update.h"
#include "learn/update_size.h"
#include "ops/random/key.h"

namespace axle {

/// The objective of one step, for optimizers that evaluate it again. Every evaluation is on the
/// whole batch of the step, with the same dropout.
class Objective {
 public:
  virtual ~Objective() = default;
  /// Traced: returns the gradient of the loss with respect to these parameters, at these values.
  /// Parameters that are left out stay as they are. The gradient can be differentiated itself.
  virtual Tree<Tensor> gradient(const Tree<Tensor>& params) const = 0;

  struct Sampled {
    Tree<Tensor> gradient;
    /// Number of targets that the loss is the mean of, an f32 scalar.
    Tensor num_targets;
  };
  /// Traced: returns the gradient that the step would have if the targets were drawn, with `key`,
  /// from the model's own predictions. Throws ConfigError if the model predicts no tokens.
  virtual Sampled sampled_gradient(const Tree<Tensor>& params, const random::Key& key) const = 0;
};

struct MeasureInputs {
  const Objective& objective;
  const Tree<Tensor>& params;
  const Tree<Tensor>& state;
  /// Number of the coming update, an i32 scalar.
  Tensor step;
  /// For random numbers; a new key in every step.
  random::Key key;
};

/// An optimizer. Its updates are added to the parameters as they are: they include the sign and the
/// learning rate. It reports the metric "learning_rate".
///
/// A program may trace update() several times for one step. measure() and gradient_point() are
/// traced once.
class Optimizer : public StatefulUpdate {
 public:
  using Role = Optimizer;
  /// Traced: returns the parameters at which the gradient of the next update is taken. The default
  /// is `params`: the parameters that are evaluated and exported.
  virtual Tree<Tensor> gradient_point(const Tree<Tensor>& params, const Tree<Tensor>& state) const;
  /// Traced: returns what the next update needs of the objective besides the gradient. The default
  /// needs nothing.
  virtual Tree<Tensor> measure(const MeasureInputs& in) const;
  /// Returns how large the updates of each parameter are. Parameters that are left out have updates
  /// of which nothing is known. The default knows nothing.
  virtual Tree<UpdateSize> update_sizes() const { return {}; }
};

}  // namespace axle
