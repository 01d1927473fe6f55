// axle config diff A B: compares two recipes, config files or run folders.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/arguments/recipe_arguments.h"
#include "cli/output.h"

namespace axle::cli {
namespace {

struct DiffOptions {
  std::string before, after;
  std::vector<std::string> on;
};

void add(CLI::App& app, DiffOptions& options, Output& out) {
  app.add_option("A", options.before, "Recipe, config file or run folder")
      ->required()
      ->type_name("");
  app.add_option("B", options.after, "The same, to compare with (default: A on another machine)")
      ->type_name("");
  app.add_option(
         "--on", options.on,
         "Machine that mesh rules match, as of `axle compile`; twice: that of A and that of "
         "B (default: this machine)")
      ->type_name("TARGET")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  out.add_json_flag(app);
}

ExitCode run(const DiffOptions& options, Output& out) {
  if (options.after.empty() && options.on.size() < 2) {
    throw ConfigError("B: expected a second recipe, file or folder, or --on twice, got neither");
  }
  if (options.on.size() > 2)
    throw ConfigError(fmt::format("--on: expected at most two, got {}", options.on.size()));
  std::optional<std::string> first, second;
  if (!options.on.empty()) first = options.on.front(), second = options.on.back();
  const Resolved a = resolve_named(options.before, first);
  const Resolved b = resolve_named(options.after.empty() ? options.before : options.after, second);
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
