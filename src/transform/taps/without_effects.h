// Removes ops with effects (ir/tensor.h): taps and debug prints.
#pragma once

#include <memory>

#include "transform/clone.h"

namespace axle {

/// Returns a copy of the region in which no op has an effect, neither in the region nor in the
/// bodies of its ops. A result of a removed op becomes the operand of that op. A region without
/// effects is returned as it is.
std::shared_ptr<const Region> without_effects(std::shared_ptr<const Region> region);
/// Clones an op like Copies::clone, and removes the effects from the clone's regions.
void clone_without_effects(const OpNode& op, Copies& copies);

}  // namespace axle
