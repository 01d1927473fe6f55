#include "cli/arguments/path_options.h"

#include <CLI/CLI.hpp>

#include "base/text/utf8.h"

namespace axle::cli {

bool is_path(const CLI::Option& option) {
  const std::string type =
      option.get_positional() ? option.get_single_name() : option.get_type_name();
  return type == "DIR" || type == "FILE" || type == "PATH" || type.ends_with(".yaml") ||
         type.ends_with(".safetensors");
}

std::string utf8_problem(const std::string& path) {
  return find_invalid_utf8(path) ? "expected UTF-8, got '" + printable(path) + "'" : std::string();
}

void refuse_empty_paths(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (!is_path(*option)) continue;
    option->check([](const std::string& text) {
      return text.empty() ? std::string("expected a path, got an empty text") : std::string();
    });
  }
}

}  // namespace axle::cli
