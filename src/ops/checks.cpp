#include "ops/checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/op_rules.h"

namespace axle {

void check_at_least(std::string_view op, std::string_view what, int64_t value, int64_t least,
                    const Values& operands) {
  if (value < least)
    shape_error(op, fmt::format("expected {} of at least {}, got {}", what, least, value),
                operands);
}

void check_sizes(std::string_view op, std::string_view what, const Shape& sizes,
                 const Values& operands) {
  if (std::ranges::any_of(sizes, [](int64_t size) { return size < 0; })) {
    shape_error(op, fmt::format("expected {} of at least 0, got {}", what, to_text(sizes)),
                operands);
  }
}

}  // namespace axle
