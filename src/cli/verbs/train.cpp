// axle train RECIPE: trains a recipe, or resumes the run in a folder.
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "checkpoint/folder.h"
#include "checkpoint/run_files.h"
#include "cli/arguments/init_arguments.h"
#include "cli/arguments/output_file.h"
#include "cli/arguments/recipe_arguments.h"
#include "cli/arguments/runtime_arguments.h"
#include "cli/verb.h"
#include "recipes/resolve/check_recipe.h"

namespace axle::cli {
namespace {

struct TrainOptions {
  RecipeArguments recipe;
  RuntimeArguments runtime;
  std::string dir;
  InitArguments init;
  std::string executable, schedule;
  bool resume = true, force = false, restart_data = false, find_nan = false;
};

void add(CLI::App& app, TrainOptions& options, Output&) {
  options.recipe.add_to(app);
  app.add_option("--dir", options.dir,
                 "Run folder: checkpoints, metrics.jsonl, config.yaml (default: runs/<recipe>)")
      ->type_name("DIR");
  app.add_flag_callback(
      "--no-resume", [&options] { options.resume = false; },
      "Refuse a folder with a checkpoint (default: resume from the newest)");
  app.add_flag("--force", options.force, "Resume although the config has changed");
  app.add_flag("--restart-data", options.restart_data,
               "Resume with the data from their first row; the data may differ");
  app.add_option("--schedule", options.schedule,
                 "On a resume with other --steps: keep the ends of schedules, or stretch them to "
                 "the new end (default)")
      ->type_name("keep|stretch")
      ->check(CLI::IsMember({"keep", "stretch"}).description(""));
  app.add_flag("--find-nan", options.find_nan,
               "After a step that is not finite, name the op that made the first NaN or infinity");
  app.add_option("--executable", options.executable,
                 "Run the step that `axle compile --save` saved, without compiling")
      ->type_name("FILE");
  options.init.add_to(app);
  options.runtime.add_to(app);
}

std::string run_folder(const TrainOptions& options, const Resolved& resolved) {
  if (!options.dir.empty()) return options.dir;
  if (resolved.report.recipe.empty())
    throw ConfigError("--dir: expected a folder for the run of a whole config, got none");
  return "runs/" + resolved.report.recipe;
}

ExitCode run(const TrainOptions& options, Output& out) {
  out.make_optional();  // the result is the run's folder
  InitFrom init = options.init.result();
  init.ignored = options.recipe.ignored();
  const Resolved resolved =
      options.recipe.resolve(options.runtime.backend, init.folder, options.init.dtype());
  const std::string dir = run_folder(options, resolved);
  // A resume has the config of the run, whose start has told the changes; with --force, it may not.
  const bool resumes = options.resume && !checkpoint_steps(checkpoints_of(dir)).empty();
  out.write(resumes && !options.force ? mesh_rule_text(resolved.report) : to_text(resolved.report));
  check_recipe(resolved.config);
  check_run_folder(dir, paths_in(resolved.config));
  out.flush();
  options.runtime.ensure_plugin();
  RunOptions run{.dir = dir,
                 .backend = options.runtime.backend,
                 .num_devices = options.runtime.num_devices,
                 .resume = options.resume,
                 .force = options.force,
                 .restart_data = options.restart_data,
                 .keep_schedules = options.schedule == "keep",
                 .compile_cache = options.runtime.compile_cache,
                 .executable = options.executable,
                 .init = init,
                 .find_nan = options.find_nan};
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
