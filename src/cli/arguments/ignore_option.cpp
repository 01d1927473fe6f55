#include "cli/arguments/ignore_option.h"

#include <CLI/CLI.hpp>

namespace axle::cli {

void add_ignore(CLI::App& app, std::vector<std::string>& fields) {
  app.add_option(
         "--ignore", fields,
         "A field to leave out of the config of a model of another program; may be repeated")
      ->type_name("FIELD")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace axle::cli
