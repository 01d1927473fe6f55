// Runs cases of eval-op.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/tree.h"
#include "comparison/functions/function.h"
#include "comparison/op_case.h"
#include "comparison/tensor_comparison.h"
#include "io/safetensors.h"
#include "runtime/runtime.h"

namespace axle {

struct FunctionList {
  std::vector<const Function*> functions;
};

/// Returns the functions of these names; all if there are none. Throws ConfigError for a name that
/// no function has.
FunctionList list_functions(const std::vector<std::string>& names);

/// Writes one line for each function: "roll(x, shift: int, axis: int)".
std::string to_text(const FunctionList& list);
nlohmann::ordered_json to_json(const FunctionList& list);

/// Computes the results of a case:
///   out<i>   output i
///   grad<i>  with vjp, the gradient of input i, if that is floating-point or complex; zeros if it
///            has no influence
/// `inputs` is the file that the case reads; null: none. In `f64` the interpreter computes all
/// floats in f64, on any runtime. Throws Error "<file>:<line>: <case>: <what>", which names
/// operands and no lines of Axle's source.
Tree<HostTensor> eval_op(const OpCase& op, const SafetensorsFile* inputs, Runtime& runtime,
                         bool f64 = false);

/// True if the case takes a tensor of this file of inputs.
bool reads_file(const OpCase& op, const SafetensorsFile& inputs);

// What cases of eval-op returned: their results, how these compare with a reference, and which
// cases failed.

/// The cases that could not be read or computed, and why.
struct CaseFailures {
  std::string file = {};  // of the cases
  size_t num_cases = 0;   // in all
  std::vector<Error> errors = {};

  /// Returns one line. Requires an error.
  std::string summary() const;
};
std::string to_text(const CaseFailures& failures);
nlohmann::ordered_json to_json(const CaseFailures& failures);

/// The results of all cases.
struct OpResults {
  Tree<HostTensor> tensors = {};
  /// The file that holds the values; empty: none, so that the report has them.
  std::string file = {};
  CaseFailures failures = {};
};
/// Writes one line for each tensor with its first elements, or the name of the file.
std::string to_text(const OpResults& results);
/// Returns {"results": [{"name", "dtype", "shape", "values"}], "failures": [...]}. The values are
/// in row-major order (element_json). With a file, "output" names it and "values" are left out.
nlohmann::ordered_json to_json(const OpResults& results);

/// The comparison of all cases.
struct OpReport {
  TensorComparison comparison;
  CaseFailures failures;

  bool agrees() const { return failures.errors.empty() && comparison.agrees(); }
};
std::string to_text(const OpReport& report);
nlohmann::ordered_json to_json(const OpReport& report);

/// Adds to the comparison the results of one case and the tensors that it expects. Throws
/// ConfigError if the reference has none of them, or lacks one that the case names.
void compare_op(const OpCase& op, const Tree<HostTensor>& results, const SafetensorsFile& reference,
                const ElementTolerance& tolerance, TensorComparison& comparison);

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
/// before kValidationFailed; the message names both.
void check_run(const OpRun& run);

}  // namespace axle
