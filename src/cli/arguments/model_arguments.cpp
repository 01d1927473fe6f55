#include "cli/arguments/model_arguments.h"

#include <CLI/CLI.hpp>

namespace axle::cli {

void ModelArguments::add_to(CLI::App& app) {
  app.add_option("--from", dir, "Folder of a run or of an import")->required()->type_name("DIR");
  app.add_flag("--ema", average, "Take the averaged parameters");
}

}  // namespace axle::cli
