// axle graph RECIPE: what the training step computes and what it keeps for the backward pass.
#include <CLI/CLI.hpp>
#include <optional>

#include "base/error.h"
#include "cli/arguments/number_options.h"
#include "cli/arguments/output_file.h"
#include "cli/arguments/recipe_arguments.h"
#include "cli/verb.h"
#include "hlo/print.h"
#include "plan/compile_report.h"
#include "plan/graph/drawing.h"
#include "plan/graph/layer_program.h"
#include "plan/graph/layer_table.h"
#include "plan/graph/op_counts.h"
#include "plan/graph/saved_values.h"
#include "plan/graph/walk_ops.h"
#include "runtime/mesh_devices.h"

namespace axle::cli {
namespace {

struct GraphVerb {
  RecipeArguments recipe;
  std::string layer, svg;
  std::optional<int64_t> depth;
  bool op_counts = false, residuals = false, flops = false, hlo = false, optimized = false,
       dot = false;
};

void add(CLI::App& app, GraphVerb& options, Output& out) {
  options.recipe.add_to(app);
  app.add_option("--layer", options.layer, "Only this layer and those below, by its path")
      ->type_name("NAME");
  add_number(app, "--depth", options.depth, "Show so many levels of layers (default: all)")
      ->type_name("N");
  auto& forms = *app.add_option_group("form", "What is printed");
  forms.add_flag("--flops", options.flops, "FLOPs and bytes by layer (the default)");
  forms.add_flag("--op-counts", options.op_counts, "The number of ops by kind");
  forms.add_flag("--residuals", options.residuals, "The values that are kept for backward");
  forms.add_flag("--hlo", options.hlo, "The StableHLO of the step, or of a layer's forward pass");
  forms.add_flag("--optimized", options.optimized, "The program that the target's compiler makes");
  forms.add_flag("--dot", options.dot, "A drawing of the forward pass as graphviz reads it");
  forms.add_option("--svg", options.svg, "Draw the forward pass into this file, by graphviz")
      ->type_name("FILE");
  forms.require_option(0, 1);
  out.add_json_flag(app);
}

void check_forms(const GraphVerb& options) {
  if (options.optimized && !options.layer.empty())
    throw ConfigError("--layer: expected a form that shows layers, got --optimized");
  const char* const whole = options.op_counts   ? "--op-counts"
                            : options.residuals ? "--residuals"
                            : options.hlo       ? "--hlo"
                            : options.optimized ? "--optimized"
                                                : nullptr;
  if (whole && options.depth)
    throw ConfigError(std::string("--depth: expected --flops, --dot or --svg, got ") + whole);
}

ExitCode run(const GraphVerb& options, Output& out) {
  check_forms(options);
  const Resolved resolved = options.recipe.resolve();
  print_changes(resolved.report);
  check_output_file("--svg", options.svg, paths_in(resolved.config));
  const Target target = options.recipe.target().value_or(
      parse_target("cpu:" + std::to_string(num_mesh_devices(resolved.config.mesh))));
  const LoweredStep step = lower_step(resolved.config, resolved.report.recipe, target);
  const Program& program = step.program;
  const std::string layer = find_layer(*program.graph, options.layer);
  if (options.op_counts) {
    out.report(axle::op_counts(*program.graph, layer));
  } else if (options.residuals) {
    out.report(saved_values(*program.graph, layer));
  } else if (options.hlo) {
    out.write(layer.empty() ? program.text : layer_program(program, layer).text);
  } else if (options.optimized) {
    out.write(print(read_hlo_module(optimized_program(step))));
  } else if (options.dot) {
    out.write(drawing(program, layer, options.depth));
  } else if (!options.svg.empty()) {
    write_svg(drawing(program, layer, options.depth), options.svg);
  } else {
    out.report(layer_table(program, layer, options.depth));
  }
  return ExitCode::kOk;
}

}  // namespace

const Verb<GraphVerb> graph({
    .name = "graph",
    .help = "Show what a recipe's step computes and keeps for backward, by layer",
    .add = add,
    .run = run,
});

}  // namespace axle::cli
