// The arguments of eval that name tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inspect/eval_run.h"

namespace CLI {
class App;
}

namespace axle::cli {

/// --task, --limit, --num-fewshot, --batch-tokens and --samples.
struct TaskArguments {
  std::vector<std::string> files;
  std::optional<int64_t> limit, num_fewshot, batch_tokens;
  std::string samples;

  void add_to(CLI::App& app);
  /// True if any of the flags was given.
  bool is_given() const {
    return !files.empty() || limit || num_fewshot || batch_tokens || !samples.empty();
  }
  /// Throws ConfigError unless there is a task, and if --samples names a file that would be lost.
  /// With --samples, it throws for mistakes of the tasks' files as well.
  void check(const std::string& model) const;
  /// Returns the options of the flags.
  EvalTasksOptions options() const;
};

}  // namespace axle::cli
