// axle train RECIPE: trains a recipe, or resumes the run in a folder.
#include <CLI/CLI.hpp>

#include "cli/arguments/model_arguments.h"
#include "cli/arguments/options.h"
#include "cli/arguments/recipe_arguments.h"
#include "cli/arguments/run_folder_arguments.h"
#include "cli/output.h"
#include "recipes/resolve/check_recipe.h"
#include "recipes/resolve/resolve.h"

namespace axle::cli {
namespace {

struct TrainOptions {
  RecipeArguments recipe;
  RunFolderArguments folder;
  RuntimeArguments runtime;
  InitArguments init;
  std::string executable;
  bool find_nan = false;
};

void add(CLI::App& app, TrainOptions& options, Output&) {
  options.recipe.add_to(app);
  app.get_option("RECIPE")->description(
      "Name of a recipe (axle config list), unless a file names one");
  options.folder.add_to(app);
  app.add_flag("--find-nan", options.find_nan,
               "After a step that is not finite, name the op that made the first NaN or infinity");
  app.add_option("--executable", options.executable,
                 "Run the step that `axle compile --save` saved, without compiling")
      ->type_name("FILE");
  options.init.add_to(app);
  options.runtime.add_to(app);
}

ExitCode run(const TrainOptions& options, Output& out) {
  out.make_optional();  // the result is the run's folder
  InitFrom init = options.init.result();
  init.ignored = options.recipe.ignored();
  options.recipe.check_names_recipe();
  if (!options.recipe.names_any() && init.folder.empty()) options.folder.check_has_checkpoint();
  Resolved resolved =
      options.recipe.resolve(options.runtime.backend, {.model = init.folder,
                                                       .dtype = options.init.dtype(),
                                                       .resumed = options.folder.resumed(init)});
  const std::string dir = options.folder.named(resolved.report.recipe);
  // A resume has the config of the run, whose start reported the changes; with --force, it may not.
  const bool resumes = options.folder.resumes(dir);
  if (resumes) take_kept_tokenizers(resolved, dir);
  out.write(resumes && !options.folder.force ? mesh_rule_text(resolved.report)
                                             : to_text(resolved.report));
  check_recipe(resolved.config);
  check_run_folder(dir, paths_in(resolved.config));
  out.flush();
  options.runtime.ensure_plugin();
  RunOptions run{.dir = dir,
                 .backend = options.runtime.backend,
                 .num_devices = options.runtime.num_devices,
                 .compile_cache = options.runtime.compile_cache,
                 .executable = options.executable,
                 .init = init,
                 .find_nan = options.find_nan};
  options.folder.apply_to(run);
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
