// The prompt of generation.
#pragma once

#include <string>

namespace axle::cli {

/// Returns `argument`, or the text on stdin if it is "-", without the final newline. Throws
/// ConfigError if the text on stdin is too long for a prompt, StorageError if stdin can't be read.
std::string read_prompt(const std::string& argument);

}  // namespace axle::cli
