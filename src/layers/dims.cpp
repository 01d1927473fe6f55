#include "layers/dims.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"

namespace axle {

int64_t ScaledDim::operator()(int64_t dim) const {
  if (multiple_of < 1)
    throw ConfigError(fmt::format("ScaledDim.multiple_of: must be positive, got {}", multiple_of));
  const auto scaled = static_cast<int64_t>(scale * static_cast<double>(dim));
  return (scaled + multiple_of - 1) / multiple_of * multiple_of;
}

AXLE_REGISTER(ScaledDim)
AXLE_REGISTER(FixedDim)

}  // namespace axle
