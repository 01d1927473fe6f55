// Range rules (RangeRule) of elementwise ops.
#pragma once

#include <span>

#include "ir/op_rules.h"

namespace axle {

/// For ops that are monotone in each operand, such as x - y: the extremes lie where each operand is
/// at a bound.
ValueRange range_at_bounds(const OpNode& op, std::span<const ValueRange> x);
/// The same for ops that combine predicates or the bits of integers. Knows nothing of bits.
ValueRange range_of_predicates(const OpNode& op, std::span<const ValueRange> x);
/// A quotient, unless the divisor may be zero.
ValueRange range_of_quotient(const OpNode& op, std::span<const ValueRange> x);
/// A remainder of integers, whose sign is that of the dividend.
ValueRange range_of_remainder(const OpNode& op, std::span<const ValueRange> x);
ValueRange range_of_magnitude(const OpNode& op, std::span<const ValueRange> x);
ValueRange range_of_equal(const OpNode& op, std::span<const ValueRange> x);
ValueRange range_of_unequal(const OpNode& op, std::span<const ValueRange> x);
ValueRange range_of_choice(const OpNode& op, std::span<const ValueRange> x);

}  // namespace axle
