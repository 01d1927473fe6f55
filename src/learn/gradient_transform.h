// The role GradientTransform: changes gradients before the optimizer sees them.
#pragma once

#include "config/fields/child.h"
#include "learn/update.h"

namespace axle {

/// A transform whose updates replace the gradients.
class GradientTransform : public StatefulUpdate {
 public:
  using Role = GradientTransform;
};

}  // namespace axle
