// Runs cases of eval-op.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/tree.h"
#include "functions/function.h"
#include "inspect/eval_op/op_case.h"
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

}  // namespace axle
