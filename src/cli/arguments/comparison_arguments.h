// The arguments of eval-layer and eval-op.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments/model_arguments.h"
#include "comparison/eval_subject.h"
#include "comparison/tensor_comparison.h"

namespace CLI {
class App;
}

namespace axle::cli {

struct EvalLayerArguments {
  std::string subject, inputs, params, rename, output, compare, precision;
  std::vector<std::string> tolerances;
  bool their_names = false;
  SubjectOptions eval;
  RuntimeArguments runtime;

  void add_to(CLI::App& app);
  /// Returns `eval` with the values of the other flags. Throws ConfigError for a precision that is
  /// not a float dtype.
  SubjectOptions options() const;
  /// Throws ConfigError for a flag without the flag that it needs, StorageError if --output can't
  /// be written.
  void check(bool json) const;
};

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
