// Options that hold paths. Their values are completed as paths.
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

/// Returns what is wrong with a path; else "". An empty text is what a shell makes of an unset
/// variable; "s3://bucket/run" would name a folder called "s3:".
std::string path_problem(const std::string& path);

/// Makes every path option refuse such paths.
void refuse_bad_paths(CLI::App& app);

}  // namespace axle::cli
