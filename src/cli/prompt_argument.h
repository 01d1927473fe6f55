// The text that generation goes on from.
#pragma once

#include <string>

namespace axle::cli {

/// `argument`, or what stands on stdin for "-", without the last line's end. Throws ConfigError for
/// more than a prompt can be, StorageError where stdin cannot be read.
std::string read_prompt(const std::string& argument);

}  // namespace axle::cli
