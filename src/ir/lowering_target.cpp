#include "ir/lowering_target.h"

namespace axle {

std::string to_text(const LoweringChoice& choice) {
  std::string out = choice.op;
  if (!choice.layer.empty()) out += " of " + choice.layer;
  out += ": " + choice.form;
  if (!choice.reason.empty()) out += ", since " + choice.reason;
  return out;
}

}  // namespace axle
