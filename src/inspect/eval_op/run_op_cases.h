// Runs the cases of a file of eval-op.
#pragma once

#include <string>
#include <vector>

#include "inspect/eval_op/op_report.h"
#include "runtime/runtime.h"

namespace axle {

/// Keeps the cases of these names; all if there are none. Throws ConfigError "--only: ..." for a
/// name that no case has.
void keep_cases(const std::vector<std::string>& names, OpCases& file);

/// Throws ConfigError "--inputs: ..." if no case reads the file of inputs. A broken case may be one
/// that does.
void check_is_read(const SafetensorsFile& inputs, const OpCases& file);

struct OpRunOptions {
  /// Null: none.
  const SafetensorsFile *inputs = nullptr, *reference = nullptr;
  ElementTolerance tolerance = {};  // for cases without one
  bool f64 = false;
};
struct OpRun {
  Tree<HostTensor> tensors;  // the results by their names in files
  TensorComparison comparison;
  CaseFailures failures;
};
/// Runs all cases. One that fails does not keep the others from running.
OpRun run_op_cases(const OpCases& file, const OpRunOptions& options, Runtime& runtime);

/// Throws Error if a case failed or a result differs. The exit code of the first failure comes
/// before kValidationFailed; the message tells of both.
void check_run(const OpRun& run);

}  // namespace axle
