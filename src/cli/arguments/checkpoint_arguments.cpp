#include "cli/arguments/checkpoint_arguments.h"

#include <CLI/CLI.hpp>

#include "cli/arguments/number_options.h"

namespace axle::cli {

void CheckpointArguments::add_to(CLI::App& app) {
  app.add_option("DIR", selection_.dir, "Folder of a run or of an import")
      ->required()
      ->type_name("");
  add_number(app, "--step", selection_.step, "The checkpoint of step N (default: the newest)")
      ->type_name("N");
  app.add_option("--only", selection_.only,
                 "Names that match: 'decoder/**/weight', * within a part, ** over parts")
      ->type_name("GLOB");
  CLI::Option* const ema = app.add_flag("--ema", average_, "The averaged parameters");
  app.add_flag("--state", state_, "All of the training state, optimizer and PRNG key included")
      ->excludes(ema);
}

CheckpointSelection CheckpointArguments::selection() const {
  CheckpointSelection out = selection_;
  if (average_) out.weights = Weights::kAverage;
  if (state_) out.weights = std::nullopt;
  return out;
}

}  // namespace axle::cli
