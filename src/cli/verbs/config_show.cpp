// axle config show RECIPE: the whole config after mesh rules, files and flags.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/arguments/recipe_arguments.h"
#include "cli/output.h"
#include "config/print.h"
#include "config/serialize.h"

namespace axle::cli {
namespace {

struct ShowOptions {
  RecipeArguments recipe;
  bool yaml = false;
};

void add(CLI::App& app, ShowOptions& options, Output& out) {
  options.recipe.add_to(app);
  CLI::Option* const json = out.add_json_flag(app);
  app.add_flag("--yaml", options.yaml, "Print YAML that --config reads as exactly this config")
      ->excludes(json);
}

ExitCode run(const ShowOptions& options, Output& out) {
  const Resolved resolved = options.recipe.resolve();
  // Goes to stderr, since programs read the config on stdout. Without --on, it is no news that no
  // rule matches.
  const ResolveReport& report = resolved.report;
  const bool tells_rule = options.recipe.target() || !report.mesh_rule.empty();
  std::fputs((tells_rule ? to_text(report) : changes_text(report)).c_str(), stderr);
  if (out.json()) {
    out.write_json(to_json(resolved.config));
  } else if (options.yaml) {
    out.write(to_config_file(resolved.report.recipe, resolved.config));
  } else {
    out.write(to_string(resolved.config));
  }
  return ExitCode::kOk;
}

}  // namespace

const Verb<ShowOptions> config_show({
    .name = "config show",
    .help = "Print every field of a recipe",
    .add = add,
    .run = run,
});

}  // namespace axle::cli
