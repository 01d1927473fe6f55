// What a compiler did beside what it was asked for, each in a sentence with what it costs.
#pragma once

#include <string>
#include <vector>

#include "hlo/collectives.h"

namespace axle {

/// How often an argument of the program is gathered whole in a pass of a step.
struct ArgumentGathers {
  int64_t argument = 0;
  bool backward = false;
  double times = 0;
  double bytes = 0;  // of all of them, on one device
};
/// By argument, the forward pass first.
std::vector<ArgumentGathers> argument_gathers(const std::vector<Collective>& all);

/// Sentences about: arguments gathered more than once a pass; gathers and scatters done by
/// all-reduces, which send twice as much; gathers done by chains of permutes; collectives within
/// loops during which nothing is computed; instructions that the compiler itself runs again because
/// memory was short. `arguments` are the names of the program's.
std::vector<std::string> compiler_findings(const HloModule& module,
                                           const std::vector<Collective>& all,
                                           const std::vector<std::string>& arguments);

}  // namespace axle
