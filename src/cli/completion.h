// Shell completion: scripts for verbs, flags, recipes and class names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace axle::cli {

/// Returns the shells that completion_script supports.
const std::vector<std::string>& completion_shells();

/// Returns a script for `shell` to source. Throws ConfigError for an unknown shell.
std::string completion_script(std::string_view shell, const CLI::App& program);

}  // namespace axle::cli
