// What a plugin's compiler says to options, without a program of use.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "targets/target.h"

namespace axle {

/// A line for each option that the compiler of `target` refuses, asked with a program of one sum,
/// and one for more virtual devices than there may be.
/// Empty as well where it can't be asked in a moment: its plugin is not here or
/// can't be used, or is one of a platform without virtual devices, whose start takes seconds.
std::vector<std::string> compiler_option_problems(const std::map<std::string, std::string>& options,
                                                  const Target& target);

}  // namespace axle
