// axle train RECIPE: trains, or goes on with what a folder holds.
#include <CLI/CLI.hpp>

#include "cli/recipe_arguments.h"
#include "cli/runtime_arguments.h"
#include "cli/verb.h"

namespace axle::cli {
namespace {

struct TrainOptions {
  RecipeArguments recipe;
  RuntimeArguments runtime;
  std::string dir;
  bool resume = true, force = false;
};

void add(CLI::App& app, TrainOptions& options, Output&) {
  options.recipe.add_to(app);
  app.add_option("--dir", options.dir, "Run folder: checkpoints, metrics.jsonl, config.yaml (default: runs/<recipe>)")->type_name("DIR");
  app.add_flag("--resume,!--no-resume", options.resume, "Go on from the newest checkpoint of the folder (default), or not");
  app.add_flag("--force", options.force, "Resume although the config has changed");
  options.runtime.add_to(app);
}

ExitCode run(const TrainOptions& options, Output& out) {
  const Resolved resolved = options.recipe.resolve();
  out.write(to_text(resolved.report));
  out.flush();
  RunOptions run{.dir = options.dir.empty() ? "runs/" + resolved.report.recipe : options.dir,
                 .backend = options.runtime.backend,
                 .num_devices = options.runtime.num_devices,
                 .resume = options.resume,
                 .force = options.force,
                 .compile_cache = options.runtime.compile_cache};
  return Trainer(resolved.config, std::move(run)).run();
}

}  // namespace

const Verb<TrainOptions> train({
    .name = "train",
    .help = "Train a recipe",
    .add = add,
    .run = run,
});

}  // namespace axle::cli
