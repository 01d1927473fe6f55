#include "config/fields/bounds.h"

#include <fmt/format.h>

#include <cmath>

#include "config/fields/device_number.h"

namespace axle {

std::string range_text(const Bounds& bounds, LeafKind kind) {
  const bool is_integer = kind == LeafKind::kInteger;
  const std::string noun = is_integer ? "an integer" : "a number";
  if (!bounds.has_min() && !bounds.has_max()) return is_integer ? noun : "a finite number";
  if (bounds.has_min() && bounds.has_max() && !bounds.open_min && !bounds.open_max)
    return fmt::format("{} from {} to {}", noun, bounds.min, bounds.max);
  std::string out = noun;
  if (bounds.has_min())
    out += fmt::format(" {} {}", bounds.open_min ? "above" : "of at least", bounds.min);
  if (bounds.has_min() && bounds.has_max()) out += " and";
  if (bounds.has_max())
    out += fmt::format(" {} {}", bounds.open_max ? "below" : "of at most", bounds.max);
  return out;
}

}  // namespace axle
