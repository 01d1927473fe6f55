#include "cli/arguments/model_arguments.h"

#include <CLI/CLI.hpp>

#include "cli/arguments/ignore_option.h"

namespace axle::cli {

void ModelArguments::add_to(CLI::App& app) {
  app.add_option("--from", dir, "A run, an import or a model of another program")
      ->required()
      ->type_name("DIR");
  add_ignore(app, ignored);
  app.add_flag("--ema", average, "Take the averaged parameters");
}

}  // namespace axle::cli
