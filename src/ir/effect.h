// Ops that are kept although nobody uses their results.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Attributes of an op that dead code elimination keeps, such as a tap.
struct EffectAttributes : Attributes {};

/// Returns true if the attributes of the op, or of an op in its regions, are EffectAttributes.
bool has_effect(const OpNode& op);
bool has_effect(const Region& region);

}  // namespace axle
