// How a verb draws tokens.
#pragma once

#include <optional>

#include "infer/generator.h"

namespace CLI {
class App;
}

namespace axle::cli {

/// --temperature, --top-k, --top-p and --seed.
class SamplingArguments {
 public:
  void add_to(CLI::App& app);
  /// Whoever says how to draw wants to draw: without a temperature it is 1 then, else 0. Throws
  /// ConfigError for values out of range, and for a temperature of 0 beside the others.
  void apply_to(GenerateOptions& options) const;

 private:
  std::optional<double> temperature_, top_p_;
  std::optional<int64_t> top_k_, seed_;
};

}  // namespace axle::cli
