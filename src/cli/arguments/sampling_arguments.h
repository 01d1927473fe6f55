// The flags of a verb that draws tokens.
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
  /// Applies the flags. Without --temperature, the temperature is 1 if another flag is set, else 0.
  /// Throws ConfigError for values out of range, and for a temperature of 0 together with another
  /// flag.
  void apply_to(GenerateOptions& options) const;

 private:
  std::optional<double> temperature_, top_p_;
  std::optional<int64_t> top_k_, seed_;
};

}  // namespace axle::cli
