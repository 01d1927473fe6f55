// axle config check RECIPE: every mistake that would keep a run from starting, and what flags and
// files change, without running anything.
#include "base/error.h"
#include "base/text.h"
#include "cli/config_changes.h"
#include "cli/recipe_arguments.h"
#include "cli/verb.h"
#include "inspect/check_config.h"

namespace axle::cli {
namespace {

ExitCode run(const RecipeArguments& recipe, Output& out) {
  const Resolved resolved = recipe.resolve();
  const auto devices =
      recipe.target() ? std::optional(recipe.target()->num_devices()) : std::optional<int64_t>();
  const std::vector<std::string> problems = config_problems(resolved.config, devices);
  if (!problems.empty()) throw ConfigError(join(problems, "\n"));
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
