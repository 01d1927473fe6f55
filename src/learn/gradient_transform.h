// The role GradientTransform: changes gradients before the optimizer sees them, or the optimizer's
// updates before they are added.
#pragma once

#include "config/fields/child.h"
#include "learn/update.h"

namespace axle {

/// A transform whose updates replace the gradients (Learner::transforms) or the updates of the
/// optimizer (Learner::update_transforms); the latter come to it as its gradients.
class GradientTransform : public StatefulUpdate {
 public:
  using Role = GradientTransform;
};

}  // namespace axle
