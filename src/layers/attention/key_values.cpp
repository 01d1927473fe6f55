#include "layers/attention/key_values.h"

namespace axle {

KeyValues KeyValues::read(InputReader& inputs, const std::string& prefix) {
  return {.k_BSKH = inputs.required(prefix + "/key"),
          .v_BSKH = inputs.required(prefix + "/value"),
          .positions_BS = inputs.optional(prefix + "/positions"),
          .segments_BS = inputs.optional(prefix + "/segments")};
}

}  // namespace axle
