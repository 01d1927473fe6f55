// Completeness: every field of a tree that must be set and is not, in one message.
#pragma once

#include "config/config_ref.h"

namespace axle {

/// Paths of all unset Required fields, empty Child slots and empty functions.
std::vector<std::string> missing(const ConfigView& root, std::string_view root_name = {});

/// Throws ConfigError "REQUIRED but not set: a.b, c.d" if anything is missing.
void check_complete(const ConfigView& root, std::string_view root_name = {});

}  // namespace axle
