// Shell completion: scripts for verbs, flags, recipes and class names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace axle::cli {

/// The shells that completion_script knows.
const std::vector<std::string>& completion_shells();

/// A script to be sourced by `shell`. Throws ConfigError for an unknown one.
std::string completion_script(std::string_view shell, const CLI::App& program);

}  // namespace axle::cli
