// axle params RECIPE: lists every parameter of a recipe, without a device and without allocating
// parameters.
#include "cli/arguments/recipe_arguments.h"
#include "cli/output.h"
#include "inspect/parameter_table.h"

namespace axle::cli {

const Verb<RecipeArguments> params({
    .name = "params",
    .help = "List the parameters of a recipe: shape, dtype, mesh axes, initialiser, weight decay",
    .add =
        [](CLI::App& app, RecipeArguments& recipe, Output& out) {
          recipe.add_to(app);
          out.add_json_flag(app);
        },
    .run =
        [](const RecipeArguments& recipe, Output& out) {
          const Resolved resolved = recipe.resolve();
          print_changes(resolved.report);
          out.report(parameter_table(resolved.config));
          return ExitCode::kOk;
        },
});

}  // namespace axle::cli
