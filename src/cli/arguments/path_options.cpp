#include "cli/arguments/path_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "io/user_path.h"

namespace axle::cli {

bool is_path(const CLI::Option& option) {
  const std::string type =
      option.get_positional() ? option.get_single_name() : option.get_type_name();
  constexpr std::string_view kNames[] = {"DIR", "FILE", "PATH", "PREFIX", "RUN", "SOURCES"};
  return std::ranges::count(kNames, type) > 0 || type.ends_with(".yaml") ||
         type.ends_with(".safetensors");
}

void refuse_bad_paths(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (is_path(*option)) option->check(path_problem);
  }
}

}  // namespace axle::cli
