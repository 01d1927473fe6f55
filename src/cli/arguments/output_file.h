// Files that a command writes where its user says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace axle::cli {

/// Throws ConfigError "<flag>: ..." for a file whose content would be lost: one of `inputs`, which
/// the same command reads, or a file of a run or of an import (its config, its records, its lock,
/// all of a checkpoint). Empty names are none.
void check_output_file(std::string_view flag, const std::string& file,
                       const std::vector<std::string>& inputs = {});

}  // namespace axle::cli
