// The role Optimizer: from gradients to what is added to the parameters.
#pragma once

#include "config/fields/child.h"
#include "learn/update.h"

namespace axle {

/// Its updates are added to the parameters as they are: sign and learning rate are in them.
class Optimizer : public StatefulUpdate {
 public:
  using Role = Optimizer;
  /// Traced: the learning rate of an update, for people to see.
  virtual Tensor learning_rate(const Tensor& step) const = 0;
};

}  // namespace axle
