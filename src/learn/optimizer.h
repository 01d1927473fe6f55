// The role Optimizer: computes the updates of the parameters from the gradients.
#pragma once

#include "config/fields/child.h"
#include "learn/update.h"

namespace axle {

/// An optimizer. Its updates are added to the parameters as they are: they include the sign and the
/// learning rate.
class Optimizer : public StatefulUpdate {
 public:
  using Role = Optimizer;
  /// Traced: returns the learning rate at a step, for logs.
  virtual Tensor learning_rate(const Tensor& step) const = 0;
};

}  // namespace axle
