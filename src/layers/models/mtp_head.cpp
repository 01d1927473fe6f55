#include "layers/models/mtp_head.h"

namespace axle {

MtpInputs MtpInputs::read(InputReader& inputs, const std::string& prefix) {
  return {.trunk_BTD = inputs.required(prefix + "/trunk"),
          .previous_BTD = inputs.required(prefix + "/previous"),
          .tokens_BTD = inputs.required(prefix + "/tokens")};
}

}  // namespace axle
