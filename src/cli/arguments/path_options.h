// Options that hold paths. Their values are completed as paths.
#pragma once

#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace axle::cli {

/// True for options with values called DIR, FILE, PATH, PREFIX, RUN, SOURCES, *.yaml or
/// *.safetensors, and for positional arguments with such a name.
bool is_path(const CLI::Option& option);

/// Makes every path option refuse paths that have a path_problem.
void refuse_bad_paths(CLI::App& app);

}  // namespace axle::cli
