// Sentences about what a compiler did beyond what it was asked for, each with its cost.
#pragma once

#include <string>
#include <vector>

#include "hlo/collectives.h"

namespace axle {

/// Returns the name of a pass of a step: "forward" or "backward".
const char* pass_text(bool backward);

/// How often a whole argument of the program is gathered in one pass of a step.
struct ArgumentGathers {
  int64_t argument = 0;
  bool backward = false;
  double times = 0;
  double bytes = 0;  // of all these gathers, on one device
};
/// Returns the gathers of each argument, first of the forward pass, then of the backward pass.
std::vector<ArgumentGathers> argument_gathers(const std::vector<Collective>& all);

/// Returns one sentence about each of these that occurs:
///   arguments that are gathered more than once in a pass
///   gathers and scatters implemented by all-reduces, which send twice as much
///   gathers implemented by chains of collective-permutes
///   collectives in loops that no computation overlaps
///   instructions that the compiler recomputes because memory is short
/// `arguments` holds the names of the program's arguments.
std::vector<std::string> compiler_findings(const HloModule& module,
                                           const std::vector<Collective>& all,
                                           const std::vector<std::string>& arguments);

}  // namespace axle
