// What the programs of likelihoods have in common.
#pragma once

#include <vector>

#include "base/tree.h"
#include "lower/program.h"
#include "transform/trace.h"

namespace axle {

/// Names the tensors, one for each value.
Tree<Tensor> named_values(const std::vector<ProgramValue>& values, const Tensor* tensors);

/// log_likelihoods f32[B] and are_greedy i32[B].
std::vector<ProgramValue> score_results(int64_t num_rows);
/// Returns these of logits_BCV, f32, and targets_BC, i32; -1 is none.
Values scored_targets(const Tensor& logits_BCV, const Tensor& targets_BC);

}  // namespace axle
