// The flags of a verb that draws tokens.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
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

/// Returns the message of an error about an option with the option's flag in place of its name:
/// "--top-k: ..." for "top_k: ...".
std::string with_flag(std::string message);

/// Calls fn() and rethrows a ConfigError about an option with the option's flag.
template <class Fn>
auto naming_flags(const Fn& fn) {
  try {
    return fn();
  } catch (const ConfigError& error) {
    throw ConfigError(with_flag(error.what()));
  }
}

}  // namespace axle::cli
