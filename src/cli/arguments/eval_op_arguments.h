// The arguments of eval-op.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments/runtime_arguments.h"
#include "inspect/compare/element_tolerance.h"

namespace CLI {
class App;
}

namespace axle::cli {

struct EvalOpArguments {
  std::string cases, inputs, output, compare, tolerance;
  std::vector<std::string> only, list;
  bool lists = false, f64 = false;
  RuntimeArguments runtime;

  void add_to(CLI::App& app);
  /// Returns --tolerance. Throws ConfigError.
  ElementTolerance element_tolerance() const;
  /// Throws ConfigError for a flag without the flag that it needs, StorageError if --output can't
  /// be written.
  void check() const;
  /// Throws ConfigError for --function without --list, and for --list with what it would ignore.
  void check_list() const;
};

}  // namespace axle::cli
