// axle config diff A B: what differs between two recipes, config files or run folders.
#include <CLI/CLI.hpp>

#include "cli/config_changes.h"
#include "cli/recipe_arguments.h"
#include "cli/verb.h"

namespace axle::cli {
namespace {

struct DiffOptions {
  std::string before, after, machine;
};

void add(CLI::App& app, DiffOptions& options, Output& out) {
  app.add_option("A", options.before, "Recipe, config file or run folder")
      ->required()
      ->type_name("");
  app.add_option("B", options.after, "The same, to compare with")->required()->type_name("");
  app.add_option("--on", options.machine, "Machine that mesh rules match (default: cpu-<cores>)")
      ->type_name("MACHINE");
  out.add_json_flag(app);
}

ExitCode run(const DiffOptions& options, Output& out) {
  const Resolved a = resolve_named(options.before, options.machine);
  const Resolved b = resolve_named(options.after, options.machine);
  out.report(ConfigChanges{changes(a.config, b.config)});
  return ExitCode::kOk;
}

}  // namespace

const Verb<DiffOptions> config_diff({
    .name = "config diff",
    .help = "Compare two recipes, config files or run folders",
    .add = add,
    .run = run,
});

}  // namespace axle::cli
