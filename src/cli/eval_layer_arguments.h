// The arguments of eval-layer.
#pragma once

#include <string>
#include <vector>

#include "cli/runtime_arguments.h"
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
  /// `eval` with what the other flags say. Throws ConfigError for a precision that is no float.
  SubjectOptions options() const;
  /// Throws ConfigError for flags that lack the one that they belong to, StorageError if --output
  /// can't be written.
  void check(bool json) const;
};

}  // namespace axle::cli
