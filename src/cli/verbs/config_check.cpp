// axle config check RECIPE: reports every mistake that would keep a run from starting, and what
// flags and files change. Reads the data, and runs nothing.
#include "base/error.h"
#include "base/mistakes.h"
#include "cli/arguments/recipe_arguments.h"
#include "cli/output.h"
#include "inspect/check_config.h"
#include "plan/compile_report_text.h"

namespace axle::cli {
namespace {

// Only `recipe`, or the whole config of a file: without the sections of other files and without
// flags.
ResolveRequest without_changes(ResolveRequest request, const std::string& recipe) {
  request.edits.clear();
  request.recipe = recipe;
  std::erase_if(request.files, [](const RecipeFile& file) { return !file.config; });
  return request;
}

ExitCode run(const RecipeArguments& recipe, Output& out) {
  Mistakes mistakes;
  const ResolveRequest request = recipe.request();
  const Resolved resolved = resolve_config(request, mistakes);
  print_warnings(resolved.report);
  const auto devices =
      recipe.target() ? std::optional(recipe.target()->num_devices()) : std::optional<int64_t>();
  // The memory of another machine is not known here.
  const auto host = recipe.target() ? std::optional<HostMemory>() : host_memory();
  std::vector<std::string> warnings;
  mistakes.add_all(config_problems(resolved.config, devices, host, &warnings));
  for (const std::string& warning : warnings) report_to_stderr(warning);
  const Target target = recipe.target().value_or(parse_target("cpu:1"));
  for (const std::string& problem :
       compiler_option_problems(resolved.config.compiler_options, target))
    mistakes.add(problem);
  mistakes.throw_any();
  const Resolved plain = resolve_config(without_changes(request, resolved.report.recipe));
  const ConfigChanges changed{changes(plain.config, resolved.config)};
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
