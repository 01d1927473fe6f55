#include "layers/attention/masks/prefix_mask.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "nn/invocation.h"
#include "ops/elementwise/compare.h"

namespace axle {

Tensor PrefixMask::operator()(const TokenPlaces& at) const {
  if (at.prefix_lengths) return at.key_positions < *at.prefix_lengths;
  if (Invocation::current().options().training) {
    throw ConfigError(fmt::format(
        "{}: PrefixMask: expected a batch with prefix_lengths, got one without; set input.prompt, "
        "or take the mask out",
        path_));
  }
  return at.key_positions < 0;
}

AXLE_REGISTER(PrefixMask)

}  // namespace axle
