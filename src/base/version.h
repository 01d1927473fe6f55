// The version of Axle.
#pragma once

#include <string_view>

namespace axle {

/// Returns a version such as "0.1.0"; a release built from a git checkout adds its commit:
/// "0.1.0+1a2b3c4".
std::string_view version();

}  // namespace axle
