#include "evaluate/model/scored_targets.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/reductions/argmax.h"
#include "ops/reductions/cross_entropy.h"
#include "ops/reductions/reduce.h"

namespace axle {

Tree<Tensor> named_values(const std::vector<ProgramValue>& values, const Tensor* tensors) {
  Tree<Tensor> out;
  for (size_t i = 0; i < values.size(); ++i) out.emplace(values[i].name, tensors[i]);
  return out;
}

std::vector<ProgramValue> score_results(int64_t num_rows) {
  return {{"log_likelihoods", {DType::kF32, {num_rows}}},
          {"are_greedy", {DType::kI32, {num_rows}}}};
}

Values scored_targets(const Tensor& logits_BCV, const Tensor& targets_BC) {
  const Tensor is_target_BC = targets_BC >= 0;
  const Tensor losses_BC = softmax_cross_entropy(logits_BCV, targets_BC).loss;
  const Tensor is_hit_BC = equal(argmax(logits_BCV), targets_BC) | logical_not(is_target_BC);
  return {-reduce_sum(select(is_target_BC, losses_BC, 0), {1}),
          reduce_min(astype(is_hit_BC, DType::kI32), {1})};
}

}  // namespace axle
