#include "ir/hlo_builder.h"

#include <fmt/format.h>

namespace axle {

std::string to_text(const LoweringChoice& choice) {
  std::string out = choice.op;
  if (!choice.layer.empty()) out += " of " + choice.layer;
  out += ": " + choice.form;
  if (!choice.reason.empty()) out += ", since " + choice.reason;
  return out;
}

std::string mlir_array(const Shape& values) {
  std::string out = "array<i64";
  for (size_t i = 0; i < values.size(); ++i)
    out.append(i ? ", " : ": ").append(fmt::format_int(values[i]).str());
  return out + ">";
}

}  // namespace axle
