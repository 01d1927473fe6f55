// What optimizers have in common: the learning rate, and weights that decay apart from the
// gradient.
#pragma once

#include <string>

#include "learn/schedule.h"
#include "learn/stateful_update.h"
#include "learn/weight_decay.h"

namespace axle {

/// Turns directions into updates:
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
