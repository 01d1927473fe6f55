// The roles GradientTransform and Optimizer: gradients to updates.
#pragma once

#include <string>

#include "base/tree.h"
#include "config/fields.h"
#include "learn/schedule.h"
#include "learn/stateful_update.h"
#include "learn/weight_decay.h"
#include "nn/param.h"
#include "ops/random/random.h"

namespace axle {

// The role GradientTransform: changes gradients before the optimizer sees them, or the optimizer's
// updates before they are added.

/// A transform of gradients or of updates. In Learner::transforms it gets the gradients, and its
/// updates replace them. In Learner::update_transforms it gets the optimizer's updates, also in
/// UpdateInputs::gradients, and its updates replace those.
class GradientTransform : public StatefulUpdate {
 public:
  using Role = GradientTransform;
};

// How the size of an update depends on the sizes of its parameter, besides the learning rate. A
// model that becomes wider needs to know (train/mup/).

enum class UpdateKind {
  kElements,   // each element is about as large as the rate: Adam, Lion
  kGradient,   // in proportion to the gradient: Sgd
  kParameter,  // in proportion to the norm of the parameter: Lamb
  kSpectral,   // the singular values of each matrix are the rate times `gain`: Muon
};

struct UpdateSize {
  UpdateKind kind = UpdateKind::kElements;
  double gain = 1;
  bool operator==(const UpdateSize&) const = default;
};

/// Returns the same size for each parameter.
Tree<UpdateSize> update_sizes_of(const Tree<ParamSpec>& params, UpdateKind kind);

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

// What optimizers have in common: the learning rate, and weights that decay apart from the
// gradient.

/// Converts directions to updates:
///   -update_schedule * (learning_rate * direction + factor * weight_decay * scale * param)
class Descent {
 public:
  struct Fields {
    const Schedule& learning_rate;
    /// None: 1 at every step.
    const Schedule* update_schedule = nullptr;
    double weight_decay = 0;
    DecayFactor decay_factor = DecayFactor::kLearningRate;
    const WeightDecayScales& weight_decay_scales;
  };
  /// Throws ConfigError, naming the field, for a schedule that is negative somewhere and for
  /// patterns that do not fit the parameters.
  Descent(const Fields& fields, const Tree<ParamSpec>& params, const Scope& scope);

  /// The factors at one step, f32 scalars.
  struct Factors {
    Tensor rate;   // of the direction: update_schedule * learning_rate
    Tensor decay;  // of weight_decay * scale * param
  };
  /// Traced.
  Factors at(const Tensor& step) const;
  /// Traced: returns `update` minus the decay of the parameter.
  Tensor decayed(const Tensor& update, const std::string& path, const Tensor& param,
                 const Factors& factors) const;
  /// Traced: returns the update that goes along -direction.
  Tensor along(const Tensor& direction, const std::string& path, const Tensor& param,
               const Factors& factors) const;

 private:
  Schedule learning_rate_, update_schedule_;
  DecayFactor decay_factor_;
  Tree<double> decay_;  // for each parameter: weight_decay times its scale
};

}  // namespace axle
