// What eval-layer --compare compares: results of a run with a file that may hold its inputs too.
#pragma once

#include <string>

#include "inspect/eval_layer/compare_tensors.h"
#include "inspect/eval_layer/eval_subject.h"

namespace axle {

/// open_reference, where the file's inputs, and what the options did not ask for, are left alone.
/// `inputs` is the file that the inputs came from; empty: none.
TensorReference open_reference(const std::string& path, const RenameRules& rules,
                               const EvalSubject& subject, const SubjectOptions& options,
                               const std::string& inputs);

}  // namespace axle
