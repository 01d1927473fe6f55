#include "cli/arguments/graph_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/arguments/number_options.h"

namespace axle::cli {
namespace {

struct FormRow {
  GraphForm form;
  const char* flag;
  bool has_json = false, has_layer = true, has_depth = false;
  int64_t least_depth = 0;
};

constexpr FormRow kForms[] = {
    {.form = GraphForm::kFlops, .flag = "--flops", .has_json = true, .has_depth = true},
    {.form = GraphForm::kOpCounts, .flag = "--op-counts", .has_json = true},
    {.form = GraphForm::kResiduals, .flag = "--residuals", .has_json = true},
    {.form = GraphForm::kHlo, .flag = "--hlo"},
    {.form = GraphForm::kOptimized, .flag = "--optimized", .has_layer = false},
    {.form = GraphForm::kDot, .flag = "--dot", .has_depth = true, .least_depth = 1},
    {.form = GraphForm::kSvg, .flag = "--svg", .has_depth = true, .least_depth = 1}};

bool is_asked(const GraphArguments& a, GraphForm form) {
  switch (form) {
    case GraphForm::kFlops:
      return a.flops;
    case GraphForm::kOpCounts:
      return a.op_counts;
    case GraphForm::kResiduals:
      return a.residuals;
    case GraphForm::kHlo:
      return a.hlo;
    case GraphForm::kOptimized:
      return a.optimized;
    case GraphForm::kDot:
      return a.dot;
    case GraphForm::kSvg:
      break;
  }
  return !a.svg.empty();
}

const FormRow& row_of(const GraphArguments& arguments) {
  const FormRow* asked = nullptr;
  for (const FormRow& row : kForms) {
    if (!is_asked(arguments, row.form)) continue;
    if (asked)
      throw ConfigError(
          fmt::format("{}: expected one form, got also {}; leave out one", row.flag, asked->flag));
    asked = &row;
  }
  return asked ? *asked : kForms[0];
}

}  // namespace

void GraphArguments::add_to(CLI::App& app, Output& out) {
  recipe.add_to(app);
  app.add_option("--layer", layer, "Only this layer and those below, by its path")
      ->type_name("NAME");
  add_number(app, "--depth", depth, "Show so many levels of layers (default: all; in drawings: 2)")
      ->type_name("N");
  out.add_json_flag(app);
  // No option group of CLI11: its options are not among those of the verb.
  constexpr const char* kGroup = "What is printed, one of";
  const auto add_form = [&](const char* flag, bool& to, const char* help) {
    app.add_flag(flag, to, help)->group(kGroup);
  };
  add_form("--flops", flops, "FLOPs and bytes by layer (the default)");
  add_form("--op-counts", op_counts, "The number of ops by kind");
  add_form("--residuals", residuals, "The values that are kept for backward");
  add_form("--hlo", hlo, "The StableHLO of the step, or of a layer's forward pass");
  add_form("--optimized", optimized, "The program that the target's compiler makes");
  add_form("--dot", dot, "A drawing of the forward pass as graphviz reads it");
  app.add_option("--svg", svg, "Draw the forward pass into this file, by graphviz")
      ->type_name("FILE")
      ->group(kGroup);
}

GraphForm GraphArguments::form(bool json) const {
  const FormRow& row = row_of(*this);
  const auto refuse = [&](const char* flag, const char* expected) {
    throw ConfigError(
        fmt::format("{}: expected {}, got {}; leave out {}", flag, expected, row.flag, flag));
  };
  if (json && !row.has_json) refuse("--json", "--flops, --op-counts or --residuals");
  if (layer && !row.has_layer) refuse("--layer", "a form that shows layers");
  if (depth && !row.has_depth) refuse("--depth", "--flops, --dot or --svg");
  if (layer && layer->empty())
    throw ConfigError("--layer: expected the path of a layer, got an empty text");
  if (depth && *depth < row.least_depth)
    throw ConfigError(
        fmt::format("--depth: expected at least {}, got {}", row.least_depth, *depth));
  return row.form;
}

}  // namespace axle::cli
