// What eval-layer --compare compares: results of a run with a file that may hold its inputs too.
#pragma once

#include <string>

#include "inspect/compare_tensors.h"
#include "inspect/eval_subject.h"

namespace axle {

/// compare_tensors, where the reference's inputs, and what the options did not ask for, are left
/// alone. `inputs` is the file that the inputs came from; empty: none.
TensorComparison compare_results(const Tree<HostTensor>& results, const EvalSubject& subject,
                                 const SubjectOptions& options, const std::string& inputs,
                                 const std::string& reference, const RenameRules& rules,
                                 const Tolerances& tolerances);

}  // namespace axle
