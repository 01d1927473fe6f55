// Which options hold paths: their values are completed as such, and are not empty.
#pragma once

#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace axle::cli {

/// True for values called DIR, FILE, PATH or *.safetensors, and for arguments of such a name.
bool is_path(const CLI::Option& option);

/// What is wrong with a path that configs and reports name, which are UTF-8: a check of an option.
std::string utf8_problem(const std::string& path);

/// An empty path, which a shell makes of a variable that is not set, is refused everywhere.
void refuse_empty_paths(CLI::App& app);

}  // namespace axle::cli
