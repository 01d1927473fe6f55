// The arguments of `axle graph`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/arguments/recipe_arguments.h"
#include "cli/output.h"

namespace axle::cli {

/// What `axle graph` prints.
enum class GraphForm { kFlops, kOpCounts, kResiduals, kHlo, kOptimized, kDot, kSvg };

struct GraphArguments {
  RecipeArguments recipe;
  /// Path of a layer; none: the whole step.
  std::optional<std::string> layer;
  /// File of --svg; empty: not given.
  std::string svg;
  /// Levels of layers; none: the default of the form.
  std::optional<int64_t> depth;
  bool flops = false, op_counts = false, residuals = false, hlo = false, optimized = false,
       dot = false;

  void add_to(CLI::App& app, Output& out);
  /// Returns the form that is asked for; kFlops by default. Throws ConfigError for two forms, and
  /// for flags that would do nothing in this form.
  GraphForm form(bool json) const;
};

}  // namespace axle::cli
