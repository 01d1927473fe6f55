// axle graph RECIPE: what the training step computes and what it keeps for the backward pass.
#include "base/error.h"
#include "cli/arguments/export_arguments.h"
#include "cli/arguments/options.h"
#include "cli/output.h"
#include "hlo/op_name.h"
#include "plan/compile_report.h"
#include "plan/graph/drawing.h"
#include "plan/graph/layer_table.h"
#include "plan/graph/saved_values.h"
#include "plan/graph/walk_ops.h"
#include "plan/memory_needs.h"
#include "runtime/mesh_devices.h"

namespace axle::cli {
namespace {

// Lowers the step. The memory of a refused mesh is a matter of `axle compile`.
LoweredStep lower(const Resolved& resolved, const Target& target) {
  try {
    return lower_step(resolved.config, resolved.report.recipe, target);
  } catch (const RefusedMeshError& error) {
    throw ConfigError(error.reason);
  }
}

void print(GraphForm form, const LoweredStep& step, const GraphArguments& options, Output& out) {
  const Program& program = step.program;
  const Region& graph = *program.graph;
  const std::string layer = find_layer(graph, options.layer.value_or(""));
  switch (form) {
    case GraphForm::kFlops:
      return out.report(layer_table(program, layer, options.depth, step.forms));
    case GraphForm::kOpCounts:
      return out.report(op_counts(graph, layer));
    case GraphForm::kResiduals:
      return out.report(saved_values(graph, layer));
    case GraphForm::kHlo:
      return out.write(layer.empty() ? program.text : layer_program(program, layer).text);
    case GraphForm::kOptimized:
      return out.write(axle::print(read_hlo_module(optimized_program(step))));
    case GraphForm::kDot:
      return out.write(drawing(program, layer, options.depth));
    case GraphForm::kSvg:
      return write_svg(drawing(program, layer, options.depth), options.svg);
  }
}

ExitCode run(const GraphArguments& options, Output& out) {
  const GraphForm form = options.form(out.json());
  const Resolved resolved = options.recipe.resolve();
  options.recipe.check_data();
  print_changes(resolved.report);
  std::vector<std::string> inputs = paths_in(resolved.config);
  inputs.insert(inputs.end(), options.recipe.files().begin(), options.recipe.files().end());
  check_output_file("--svg", options.svg, OutputKind::kDrawing, inputs);
  const Target target = options.recipe.target().value_or(
      parse_target("cpu:" + std::to_string(num_mesh_devices(resolved.config.mesh))));
  print(form, lower(resolved, target), options, out);
  return ExitCode::kOk;
}

}  // namespace

const Verb<GraphArguments> graph({
    .name = "graph",
    .help = "Show what a recipe's step computes and keeps for backward, by layer",
    .add = [](CLI::App& app, GraphArguments& options, Output& out) { options.add_to(app, out); },
    .run = run,
});

}  // namespace axle::cli
