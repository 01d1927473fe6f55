// Checks that a tree can be built: reports every unset required field and every number out of range
// in one message.
#pragma once

#include "config/walk.h"

namespace axle {

/// Returns the paths of all unset Required fields, empty Child slots and empty functions.
std::vector<std::string> missing(const Slot& root, std::string_view root_name = {});

/// Returns "a.eps: expected a number above 0, got -1.0" for each number out of range, and a similar
/// line for each map with an invalid key.
std::vector<std::string> out_of_range(const Slot& root, std::string_view root_name = {});

/// Throws ConfigError with the lines of out_of_range, then "REQUIRED but not set: a.b, c.d"; does
/// nothing if there are none.
void check_complete(const Slot& root, std::string_view root_name = {});

/// Throws ConfigError with the lines of out_of_range for the config alone. The configs of its
/// children check themselves when they are built.
void check_own_values(const AnyConfig& config, std::string_view path);

}  // namespace axle
