// The patterns that cut text into pieces, by the names of the models that have them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// Returns the patterns of a family ("": llama3), each applied to the pieces of the one before.
/// Throws ConfigError "<where>: ..." for an unknown name.
const std::vector<std::string_view>& split_patterns_of(std::string_view family,
                                                       std::string_view where);
std::vector<std::string> split_family_names();

}  // namespace axle
