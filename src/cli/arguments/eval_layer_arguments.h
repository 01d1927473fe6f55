// The arguments of eval-layer.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments/runtime_arguments.h"
#include "inspect/eval_layer/eval_subject.h"

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

}  // namespace axle::cli
