// Shell completion: scripts for verbs, flags, recipes and class names.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace axle::cli {

/// Returns a script for `shell` (bash, zsh or fish) to source. Throws ConfigError for an unknown
/// shell.
std::string completion_script(std::string_view shell, const CLI::App& program);

}  // namespace axle::cli
