// Runs cases of eval-op and compares their results.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/tree.h"
#include "inspect/compare/tensor_comparison.h"
#include "inspect/eval_op/op_case.h"
#include "io/safetensors.h"
#include "runtime/runtime.h"

namespace axle {

/// Computes the results of a case:
///   out<i>   output i
///   grad<i>  with vjp, the gradient of input i, if that is floating-point or complex; zeros if it
///            has no influence
/// `inputs` is the file that the case reads; null: none. In `f64` the interpreter computes all
/// floats in f64, whatever the runtime. Throws Error "<file>:<line>: <what>".
Tree<HostTensor> eval_op(const OpCase& op, const SafetensorsFile* inputs, Runtime& runtime,
                         bool f64 = false);

/// The comparison of all cases, and why some could not be computed.
struct OpReport {
  TensorComparison comparison;
  std::vector<Error> failures;

  bool agrees() const { return failures.empty() && comparison.agrees(); }
};
std::string to_text(const OpReport& report);
nlohmann::ordered_json to_json(const OpReport& report);

/// Adds to the report the comparison of the results of one case with the tensors that it expects.
/// Throws ConfigError if the reference has none of them, or lacks one that the case names.
void compare_op(const OpCase& op, const Tree<HostTensor>& results, const SafetensorsFile& reference,
                const ElementTolerance& tolerance, OpReport& report);

}  // namespace axle
