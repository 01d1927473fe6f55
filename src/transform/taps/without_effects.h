// Removal of taps from programs.
#pragma once

#include <memory>

#include "transform/clone.h"

namespace axle {

/// Returns the region without ops that are effects themselves (ir/effect.h), also in the bodies of
/// other ops. Their operands take the place of their results. Returns the same region if it has
/// none.
std::shared_ptr<const Region> without_effects(std::shared_ptr<const Region> region);
/// Like copies.clone(op), with the regions of the copy without_effects.
void clone_without_effects(const OpNode& op, Copies& copies);

}  // namespace axle
