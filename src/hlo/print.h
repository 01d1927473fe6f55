// Optimised programs as text, for people.
#pragma once

#include <string>

#include "hlo/module.h"

namespace axle {

/// Returns one line per instruction: "  %name = bf16[4] add(%a, %b), op_name=...". It holds what
/// HloModule holds: constants other than scalar integers and most attributes are left out.
/// Computations come in the order in which they are called, callees first.
std::string print(const HloModule& module);

}  // namespace axle
