// What optimizers and gradient transforms have in common: a step from gradients and state to
// updates and new state, traced into the training program.
//
// All keys of gradients, parameters and updates are paths of parameters; keys of state are
// "<what>/<path of the parameter>", relative to the module that owns it.
#pragma once

#include <string>
#include <string_view>

#include "base/tree.h"
#include "config/scope.h"
#include "nn/param.h"

namespace axle {

struct UpdateInputs {
  const Tree<Tensor>& gradients;
  const Tree<Tensor>& params;
  const Tree<Tensor>& state;
  /// i32 scalar: the number of this update, 1 for the first.
  Tensor step;
  /// Global norm of `gradients`, where the caller knows it; see norm().
  Tensor gradient_norm = {};

  /// Global norm of the gradients, f32 scalar.
  Tensor norm() const;
};

struct UpdateOutputs {
  Tree<Tensor> updates;
  Tree<Tensor> state;
};

class StatefulUpdate {
 public:
  struct Dims {
    const Tree<ParamSpec>& params;
  };
  virtual ~StatefulUpdate() = default;

  /// Shape, dtype and mesh axes of the state; that of a parameter is sharded as the parameter.
  virtual Tree<ParamSpec> state_specs() const { return {}; }
  /// Traced: the state before the first update. By default as the specs say.
  virtual Tree<Tensor> initialize(const Tree<Tensor>& params) const;
  /// Traced. Updates are f32.
  virtual UpdateOutputs update(const UpdateInputs& in) const = 0;
};

/// "<path of the module>.<field>", for messages.
std::string field_path(const Scope& scope, std::string_view field);

/// Specs of f32 zeros beside each parameter: "<name>/<path>".
Tree<ParamSpec> zeros_beside(const Tree<ParamSpec>& params, std::string_view name);

/// Square root of the sum of the squares of all elements of all tensors: an f32 scalar.
Tensor global_norm(const Tree<Tensor>& tree);

}  // namespace axle
