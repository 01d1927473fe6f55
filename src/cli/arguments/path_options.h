// Options that hold paths. Their values are completed as paths and must not be empty.
#pragma once

#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace axle::cli {

/// True for options with values called DIR, FILE, PATH, *.yaml or *.safetensors, and for positional
/// arguments with such a name.
bool is_path(const CLI::Option& option);

/// Returns what is wrong with a path that is not UTF-8; else empty. A check of options whose paths
/// appear in configs and reports, which are UTF-8.
std::string utf8_problem(const std::string& path);

/// Makes every path option refuse an empty path, which is what a shell makes of an unset variable.
void refuse_empty_paths(CLI::App& app);

}  // namespace axle::cli
