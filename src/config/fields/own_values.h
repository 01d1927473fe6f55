// The values of one config, without those of its children.
#pragma once

#include <string>
#include <string_view>

#include "config/fields/any_config.h"

namespace axle {

/// Returns "a.eps: expected a number above 0, got -1.0" if the value of the slot is out of range or
/// is a map with an invalid key; else empty.
std::string range_problem(const std::string& path, const Slot& slot);

/// Throws ConfigError for numbers of the config that are out of range. Does not look into the
/// configs of its children, which check themselves when they are built.
void check_own_values(const AnyConfig& config, std::string_view path);

}  // namespace axle
