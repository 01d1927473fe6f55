// The public tensor functions that eval-op can call, for people and programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "functions/function.h"

namespace axle {

struct FunctionList {
  std::vector<const Function*> functions;
};

/// Returns the functions of these names; all if there are none. Throws ConfigError for a name that
/// no function has.
FunctionList list_functions(const std::vector<std::string>& names);

/// Writes one line for each function: "roll(x, shift: int, axis: int)".
std::string to_text(const FunctionList& list);
nlohmann::ordered_json to_json(const FunctionList& list);

}  // namespace axle
