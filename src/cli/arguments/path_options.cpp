#include "cli/arguments/path_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

namespace axle::cli {

bool is_path(const CLI::Option& option) {
  const std::string type =
      option.get_positional() ? option.get_single_name() : option.get_type_name();
  return type == "DIR" || type == "FILE" || type == "PATH" || type.ends_with(".yaml") ||
         type.ends_with(".safetensors");
}

std::string path_problem(const std::string& path) {
  if (path.empty()) return "expected a path, got an empty text";
  const size_t end = path.find("://");
  const auto is_of_scheme = [](unsigned char c) {
    return std::isalnum(c) || c == '+' || c == '-' || c == '.';
  };
  if (end == path.npos || end < 2 || !std::isalpha(static_cast<unsigned char>(path[0])) ||
      !std::all_of(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(end), is_of_scheme))
    return {};
  return fmt::format(
      "expected a path of this machine, got '{}'; {}:// is not supported, mount it or copy it here",
      path, path.substr(0, end));
}

void refuse_bad_paths(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (is_path(*option)) option->check(path_problem);
  }
}

}  // namespace axle::cli
