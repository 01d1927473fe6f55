// Checking compiler options with a plugin's compiler before there is a program to compile.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "targets/target.h"

namespace axle {

/// Returns a line for each option that the compiler of `target` refuses, and one if the target has
/// too many virtual devices. To ask the compiler, it compiles a program of one addition per option.
/// Also empty if the compiler cannot be asked quickly: its plugin is missing or cannot be used, or
/// the platform has no virtual devices, so that starting the plugin takes seconds.
std::vector<std::string> compiler_option_problems(const std::map<std::string, std::string>& options,
                                                  const Target& target);

}  // namespace axle
