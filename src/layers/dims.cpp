#include "layers/dims.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "ir/type.h"

namespace axle {

int64_t ScaledDim::operator()(int64_t dim) const {
  if (multiple_of < 1)
    throw ConfigError(fmt::format("ScaledDim.multiple_of: must be positive, got {}", multiple_of));
  const double scaled = scale * static_cast<double>(dim);
  // Also false for NaN.
  if (!(std::abs(scaled) <= kMostElements) || multiple_of > kMostElements) {
    throw ConfigError(
        fmt::format("ScaledDim: expected a width of at most {}, got {} * {} in multiples of {}",
                    kMostElements, scale, dim, multiple_of));
  }
  return (static_cast<int64_t>(scaled) + multiple_of - 1) / multiple_of * multiple_of;
}

AXLE_REGISTER(ScaledDim)
AXLE_REGISTER(FixedDim)

}  // namespace axle
