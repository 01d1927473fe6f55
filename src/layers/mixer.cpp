#include "layers/mixer.h"

#include "config/register.h"

namespace axle {

MixerContext MixerContext::read(InputReader& inputs, const std::string& prefix) {
  return {.positions = inputs.optional(prefix + "/positions"),
          .segment_ids = inputs.optional(prefix + "/segment_ids")};
}

AXLE_REGISTER(MixerDims)

}  // namespace axle
