// What a plugin's compiler writes to the process's standard error: the only place where XLA tells
// that it could not do what it wanted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// Makes plugins that are loaded from now on write warnings; the user's own setting stays.
void let_plugins_warn();

/// The messages of the lines "W1121 23:12:12.335242 2503 file.cc:3402] message" (warnings and
/// errors), each once, without those that say nothing about the program.
std::vector<std::string> compiler_warnings(std::string_view log);

}  // namespace axle
