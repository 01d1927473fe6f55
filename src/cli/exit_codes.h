// The exit codes, explained at the end of `axle --help`.
#pragma once

#include <string>

namespace axle::cli {

/// Returns one line for each exit code, with its meaning.
std::string exit_code_text();

}  // namespace axle::cli
