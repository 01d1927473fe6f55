// Whether a tree can be built: every field that must be set and is not, every number out of its
// range, in one message.
#pragma once

#include "config/config_ref.h"

namespace axle {

/// Paths of all unset Required fields, empty Child slots and empty functions.
std::vector<std::string> missing(const ConfigView& root, std::string_view root_name = {});

/// "a.eps: expected a number above 0, got -1.0" for each number out of its range and each key of a
/// map that may not stand there.
std::vector<std::string> out_of_range(const ConfigView& root, std::string_view root_name = {});

/// Throws ConfigError with a line for each number of out_of_range, then "REQUIRED but not set: a.b,
/// c.d", if there is any.
void check_complete(const ConfigView& root, std::string_view root_name = {});

}  // namespace axle
