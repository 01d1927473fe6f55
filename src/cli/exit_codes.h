// The exit codes for people: the end of `axle --help`.
#pragma once

#include <string>

namespace axle::cli {

/// One line a code, with what it means.
std::string exit_code_text();

}  // namespace axle::cli
