// The role GradientTransform: what happens to gradients before the optimizer sees them.
#pragma once

#include "config/fields/child.h"
#include "learn/update.h"

namespace axle {

/// Its updates take the place of the gradients.
class GradientTransform : public StatefulUpdate {
 public:
  using Role = GradientTransform;
};

}  // namespace axle
