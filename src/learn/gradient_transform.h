// The role GradientTransform: changes gradients before the optimizer sees them, or the optimizer's
// updates before they are added.
#pragma once

#include "config/fields/child.h"
#include "learn/stateful_update.h"

namespace axle {

/// A transform of gradients or of updates. In Learner::transforms it gets the gradients, and its
/// updates replace them. In Learner::update_transforms it gets the optimizer's updates, also in
/// UpdateInputs::gradients, and its updates replace those.
class GradientTransform : public StatefulUpdate {
 public:
  using Role = GradientTransform;
};

}  // namespace axle
