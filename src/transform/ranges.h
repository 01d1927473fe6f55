// What values a traced function can have.
#pragma once

#include <span>
#include <vector>

#include "ir/op_rules.h"

namespace axle {

/// Returns numbers that hold every element of each result if the elements of each parameter lie in
/// `parameters` (RangeRule). Correlations are not seen: x - x has a range.
std::vector<ValueRange> ranges_of_results(const Region& region,
                                          std::span<const ValueRange> parameters);

}  // namespace axle
