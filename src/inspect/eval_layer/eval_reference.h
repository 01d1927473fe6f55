// Reads the reference tensors of `axle eval-layer --compare`.
#pragma once

#include <string>

#include "inspect/eval_layer/compare_tensors.h"
#include "inspect/eval_layer/eval_subject.h"

namespace axle {

/// Opens a reference file as open_reference() of compare_tensors.h does, without two kinds of
/// tensors: the inputs, and the results that `options` did not ask for. One file may hold the
/// inputs and the reference; `inputs` is the path of the file of inputs, "" if there is none.
TensorReference open_reference(const std::string& path, const RenameRules& rules,
                               const EvalSubject& subject, const SubjectOptions& options,
                               const std::string& inputs);

}  // namespace axle
