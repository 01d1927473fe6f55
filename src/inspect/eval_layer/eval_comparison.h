// Chooses what eval-layer --compare compares. The reference file may hold inputs too.
#pragma once

#include <string>

#include "inspect/eval_layer/compare_tensors.h"
#include "inspect/eval_layer/eval_subject.h"

namespace axle {

/// Like open_reference() of compare_tensors.h, but leaves out the inputs in the file and the
/// results that the options did not ask for. `inputs` is the path of the file of inputs; empty:
/// none.
TensorReference open_reference(const std::string& path, const RenameRules& rules,
                               const EvalSubject& subject, const SubjectOptions& options,
                               const std::string& inputs);

}  // namespace axle
