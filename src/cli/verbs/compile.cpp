// axle compile RECIPE --on TARGET: compiles the training step for a machine that need not be here.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/error.h"
#include "cli/arguments/options.h"
#include "cli/arguments/recipe_arguments.h"
#include "cli/output.h"
#include "fetch/fetch_plugin.h"
#include "plan/advice/advice.h"
#include "plan/compile_report_text.h"
#include "plan/memory_needs.h"
#include "runtime/mesh_devices.h"

namespace axle::cli {
namespace {

struct CompileVerb {
  RecipeArguments recipe;
  std::string save;
  bool no_advice = false, yes = false;
};

void add(CLI::App& app, CompileVerb& options, Output& out) {
  options.recipe.add_to(app);
  app.add_option("--save", options.save, "Save the executable for `axle train --executable`")
      ->type_name("FILE");
  app.add_flag("--no-advice", options.no_advice,
               "Report the step as it is; compile no change that would fit or be better");
  app.add_flag("--yes", options.yes, "Fetch what the target's compiler needs without asking");
  out.add_json_flag(app);
}

// Lowers the step. If the mesh is refused, prints what is known without a program: as JSON the
// memory of the training state, as text the mesh rule.
LoweredStep lower(const Resolved& resolved, const Target& target, Output& out) {
  try {
    return lower_step(resolved.config, resolved.report.recipe, target);
  } catch (const RefusedMeshError& error) {
    if (out.json()) {
      out.write_json(to_json(error, resolved, target));
    } else {
      out.write(mesh_rule_text(resolved.report));
    }
    throw;
  }
}

ExitCode run(const CompileVerb& options, Output& out) {
  if (!options.recipe.target()) {
    throw ConfigError(
        "--on: expected a target like cpu:8, tpu:v5p:4x8x8, gpu:h100:32x8 or tpu-v5p-512, got "
        "none");
  }
  const Target& target = *options.recipe.target();
  // Before the memory of so many devices is judged.
  if (target.accelerator.platform == "cpu")
    check_device_count("--on " + to_text(target), target.num_devices());
  const ResolveRequest request = options.recipe.request();
  const Resolved resolved = resolve_config(request);
  print_warnings(resolved.report);
  std::vector<std::string> inputs = paths_in(resolved.config);
  inputs.insert(inputs.end(), options.recipe.files().begin(), options.recipe.files().end());
  check_output_file("--save", options.save, OutputKind::kExecutable, inputs);
  std::fputs(changes_text(resolved.report).c_str(), stderr);
  const LoweredStep step = lower(resolved, target, out);
  const TracedEvaluations evaluations(resolved.config, step.program.mesh);
  ensure_plugin(target.accelerator.platform, terminal_fetch_options(options.yes));
  CompileReport report =
      options.save.empty() ? compile_step(step) : compile_and_save_step(step, options.save);
  report.resolution = resolved.report;
  const AdvisedReport advised =
      advised_report(std::move(report), step, evaluations, request, resolved,
                     {.tries_changes = !options.no_advice, .say = report_to_stderr});
  out.report(advised);
  if (advised.report.save_error) std::rethrow_exception(advised.report.save_error);
  return exit_code_of(advised);
}

}  // namespace

const Verb<CompileVerb> compile({
    .name = "compile",
    .help = "Compile a recipe's step for a target: does it fit, what does it cost",
    .add = add,
    .run = run,
});

}  // namespace axle::cli
