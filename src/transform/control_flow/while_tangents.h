// Forward mode through while: one loop computes the carry and its tangents.
//
// Reverse mode would have to keep values of all iterations. Where an op around a while loop is
// differentiated forwards, by transposing its pullback, the loop's pullback is an op without a
// value, whose own pullback is the loop with tangents. Nothing computes it: it is dead once it is
// transposed.
#pragma once

#include "ir/op_rules.h"

namespace axle {

/// Emits the loop of a while op over its carry and the tangents of those parts of the carry that
/// depend on a moved input. The condition sees the carry alone.
PushedForward push_forward_while(const OpNode& op, const Values& inputs, const Values& tangents);

/// The rule for reverse mode: gives a pullback for jvp, which only transposes it. Throws ShapeError
/// elsewhere.
Linearized linearize_while(const OpNode& op, const Values& inputs, const std::vector<bool>& active);

}  // namespace axle
