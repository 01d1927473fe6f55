// The warnings that a plugin's compiler writes to standard error. XLA reports a missed optimisation
// nowhere else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// Makes plugins that are loaded later write warnings (TF_CPP_MIN_LOG_LEVEL=1). A value that the
/// user has set stays.
void enable_plugin_warnings();

/// Returns the messages of the warnings and errors in `log`, which are lines of the form
/// "W1121 23:12:12.335242 2503 file.cc:3402] message". Each message is returned once; messages that
/// XLA writes for every program are left out.
std::vector<std::string> compiler_warnings(std::string_view log);

}  // namespace axle
