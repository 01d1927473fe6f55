#include "evaluate/model/scoring_program.h"

#include "infer/decode_programs.h"
#include "layers/blocks/mixer.h"
#include "lower/trace_program.h"
#include "nn/functional.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/reductions/cumulative.h"
#include "ops/reductions/reduce.h"
#include "ops/reductions/softmax.h"

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

namespace {

// Sorted by name, as append_by_name() takes them.
std::vector<ProgramValue> row_inputs(const ScoringParts& parts, const ScoringShape& shape) {
  const auto [B, T, C] = shape;
  const auto sharded = [&](size_t num_dims) {
    PartitionSpec spec = parts.batch_partition;
    spec.dims.resize(std::min(spec.dims.size(), num_dims));
    return spec;
  };
  std::vector<ProgramValue> out;
  out.push_back({"lengths", {DType::kI32, {B}}, sharded(1)});
  if (parts.num_streams > 0)
    out.push_back({kPositionStreams, {DType::kI32, {B, T, parts.num_streams}}, sharded(2)});
  out.push_back({"starts", {DType::kI32, {B}}, sharded(1)});
  out.push_back({"targets", {DType::kI32, {B, C}}, sharded(1)});
  out.push_back({"tokens", {DType::kI32, {B, T}}, sharded(2)});
  return out;
}

// Returns logits_BCV, f32, of the scored positions.
Tensor scored_logits(const ScoringParts& parts, Tree<Tensor> parameters, const Tree<Tensor>& rows,
                     int64_t C) {
  Model& model = parts.model;
  const Tensor tokens_BT = rows.at("tokens"), lengths_B = rows.at("lengths"),
               starts_B = rows.at("starts");
  const Tensor is_token_BT = iota(tokens_BT.shape(), 1) < expand_dims(lengths_B, 1);
  Tree<Tensor> batch{{"input_ids", tokens_BT},
                     {"input_segment_ids", astype(is_token_BT, DType::kI32)},
                     {"prefix_lengths", starts_B + 1}};
  if (const auto streams = rows.find(kPositionStreams); streams != rows.end())
    batch.emplace(kPositionStreams, streams->second);
  const Shape bc = {tokens_BT.dim(0), C};
  const Tensor places_BC =
      minimum(expand_dims(starts_B, 1) + iota(bc, 1), static_cast<double>(tokens_BT.dim(1) - 1));
  InvocationOptions options{.state = subtree(parameters, kLayerStatePath),
                            .summaries = false,
                            .compute_dtype = parts.compute_dtype};
  return functional(model, std::move(parameters), std::move(options),
                    [&] {
                      return astype(model.logits_of(batched_take(model.hidden(batch), places_BC)),
                                    DType::kF32);
                    })
      .first;
}

}  // namespace

Program scoring_program(const ScoringParts& parts, const ScoringShape& shape) {
  const std::vector<ProgramValue> parameters =
      decode_parameters(parts.model, {.compute_dtype = parts.compute_dtype});
  const std::vector<ProgramValue> rows = row_inputs(parts, shape);
  std::vector<ProgramValue> inputs = parameters;
  inputs.insert(inputs.end(), rows.begin(), rows.end());
  const TensorFunction fn = [&](const Values& x) {
    const Tree<Tensor> of_rows = named_values(rows, x.data() + parameters.size());
    const Tensor logits_BCV =
        scored_logits(parts, named_values(parameters, x.data()), of_rows, shape.num_scored);
    return scored_targets(logits_BCV, of_rows.at("targets"));
  };
  return trace_program("score", fn, std::move(inputs), score_results(shape.num_rows), parts.mesh);
}

}  // namespace axle
