// Checks of the numbers that callers give to ops.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/tensor.h"

namespace axle {

/// Throws ShapeError "<op>: expected <what> of at least <least>, got <value>" if it is less.
void check_at_least(std::string_view op, std::string_view what, int64_t value, int64_t least,
                    const Values& operands = {});
/// Throws ShapeError "<op>: expected <what> of at least 0, got <sizes>" if one of them is negative.
void check_sizes(std::string_view op, std::string_view what, const Shape& sizes,
                 const Values& operands = {});

}  // namespace axle
