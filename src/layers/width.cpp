#include "layers/width.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "config/register.h"
#include "config/walk.h"
#include "ir/type.h"

namespace axle {

int64_t width_of(const DimFn& width, int64_t dim, std::string_view layer, std::string_view field) {
  try {
    return width(dim);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", join_config_path(layer, field), error.what()));
  }
}

int64_t ScaledDim::operator()(int64_t dim) const {
  const double scaled = scale * static_cast<double>(dim);
  // This comparison is also false for NaN.
  if (!(std::abs(scaled) <= kMaxElements) || multiple_of > kMaxElements) {
    throw ConfigError(fmt::format(
        "scale, multiple_of: expected a width of at most {}, got {} * {} in multiples of {}",
        kMaxElements, double{scale}, dim, int64_t{multiple_of}));
  }
  return (static_cast<int64_t>(scaled) + multiple_of - 1) / multiple_of * multiple_of;
}

AXLE_REGISTER(ScaledDim)
AXLE_REGISTER(FixedDim)

}  // namespace axle
