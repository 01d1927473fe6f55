// axle config check RECIPE: whether flags and files fit, and what they change, without running
// anything.
#include "cli/config_changes.h"
#include "cli/recipe_arguments.h"
#include "cli/verb.h"
#include "config/missing.h"
#include "inspect/parameter_table.h"

namespace axle::cli {
namespace {

ExitCode run(const RecipeArguments& recipe, Output& out) {
  const Resolved resolved = recipe.resolve();
  check_complete(resolved.config);
  parameter_table(resolved.config);  // builds the model: its layers check their own fields
  const ConfigChanges changed{changes(recipe.resolve_plain().config, resolved.config)};
  if (!out.json()) out.write(to_text(resolved.report));
  out.report(changed);
  return ExitCode::kOk;
}

}  // namespace

const Verb<RecipeArguments> config_check({
    .name = "config check",
    .help = "Check flags and files without running; print what they change in the recipe",
    .add =
        [](CLI::App& app, RecipeArguments& recipe, Output& out) {
          recipe.add_to(app);
          out.add_json_flag(app);
        },
    .run = run,
});

}  // namespace axle::cli
