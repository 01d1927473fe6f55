#include "evaluate/model/choice_programs.h"

#include "evaluate/model/scored_targets.h"
#include "infer/decode_programs.h"
#include "layers/blocks/mixer.h"
#include "lower/trace_program.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/reductions/reduce.h"

namespace axle {
namespace {

DecodeShape decode_shape(const ScoringParts& parts, const ChoiceShape& shape) {
  return {.num_rows = shape.num_rows,
          .prompt_len = shape.context_len,
          .cache_len = shape.context_len + shape.num_read(),
          .compute_dtype = parts.compute_dtype,
          .mesh = parts.mesh};
}

PartitionSpec rows_spec(const ScoringParts& parts, size_t num_dims) {
  PartitionSpec spec = parts.batch_partition;
  spec.dims.resize(std::min(spec.dims.size(), num_dims));
  return spec;
}

// The caches, then the logits behind the contexts.
std::vector<ProgramValue> context_results(const ScoringParts& parts, const ChoiceShape& shape) {
  std::vector<ProgramValue> out = decode_caches(parts.model, decode_shape(parts, shape));
  out.push_back({"context_logits",
                 {DType::kF32, {shape.num_rows, parts.model.vocab_size()}},
                 rows_spec(parts, 1)});
  return out;
}

}  // namespace

Program context_program(const ScoringParts& parts, const ChoiceShape& shape) {
  const auto [B, T, C] = shape;
  const std::vector<ProgramValue> parameters = decode_parameters(
                                      parts.model, {.compute_dtype = parts.compute_dtype}),
                                  results = context_results(parts, shape);
  std::vector<ProgramValue> inputs = parameters;
  inputs.push_back({"lengths", {DType::kI32, {B}}, rows_spec(parts, 1)});
  if (parts.num_streams > 0)
    inputs.push_back(
        {kPositionStreams, {DType::kI32, {B, T, parts.num_streams}}, rows_spec(parts, 2)});
  inputs.push_back({"tokens", {DType::kI32, {B, T}}, rows_spec(parts, 2)});
  const TensorFunction fn = [&](const Values& x) {
    Tree<Tensor> weights = named_values(parameters, x.data()), caches;
    const Tensor* at = x.data() + parameters.size();
    const Tensor lengths_B = *at++;
    Tree<Tensor> batch{{"last_index", lengths_B - 1}, {"prefix_lengths", lengths_B}};
    if (parts.num_streams > 0) batch.emplace(kPositionStreams, *at++);
    batch.emplace("input_ids", *at++);
    for (size_t i = 0; i + 1 < results.size(); ++i)
      caches.emplace(results[i].name, zeros(results[i].type.dims, results[i].type.dtype));
    const auto [logits_BV, filled] =
        while_decoding(parts.model, std::move(weights), std::move(caches), parts.compute_dtype,
                       [&] { return parts.model.next_logits(batch); });
    Values out;
    for (const auto& [path, cache] : filled) out.push_back(cache);
    out.push_back(astype(logits_BV, DType::kF32));
    return out;
  };
  return trace_program("score_contexts", fn, std::move(inputs), results, parts.mesh);
}

Program choice_program(const ScoringParts& parts, const ChoiceShape& shape) {
  const int64_t B = shape.num_rows, L = shape.num_read();
  const std::vector<ProgramValue> parameters = decode_parameters(
                                      parts.model, {.compute_dtype = parts.compute_dtype}),
                                  contexts = context_results(parts, shape);
  std::vector<ProgramValue> inputs = parameters;
  inputs.insert(inputs.end(), contexts.begin(), contexts.end());
  inputs.push_back({"lengths", {DType::kI32, {B}}, rows_spec(parts, 1)});
  if (parts.num_streams > 0)
    inputs.push_back(
        {kPositionStreams, {DType::kI32, {B, L, parts.num_streams}}, rows_spec(parts, 1)});
  inputs.push_back({"targets", {DType::kI32, {B, shape.num_scored}}, rows_spec(parts, 1)});
  const TensorFunction fn = [&](const Values& x) {
    const Tensor* at = x.data() + parameters.size();
    Tree<Tensor> caches = named_values({contexts.begin(), contexts.end() - 1}, at);
    at += contexts.size() - 1;
    const Tensor first_BV = *at++, lengths_B = *at++;
    Tree<Tensor> batch{{"prefix_lengths", lengths_B}};
    if (parts.num_streams > 0) batch.emplace(kPositionStreams, *at++);
    const Tensor targets_BC = *at++;
    Tensor logits_BCV = expand_dims(first_BV, 1);
    if (L > 0) {
      const Tensor read_BL = slice_in_dim(targets_BC, 1, 0, L),
                   num_targets_B = reduce_sum(astype(targets_BC >= 0, DType::kI32), {1});
      batch.emplace("input_ids", maximum(read_BL, 0.0));
      batch.emplace("input_positions", expand_dims(lengths_B, 1) + iota({B, L}, 1));
      batch.emplace("last_index", num_targets_B - 2);
      const auto read = while_decoding(
          parts.model, named_values(parameters, x.data()), std::move(caches), parts.compute_dtype,
          [&] { return parts.model.logits_of(parts.model.hidden(batch)); });
      logits_BCV = concatenate({logits_BCV, astype(read.first, DType::kF32)}, 1);
    }
    return scored_targets(logits_BCV, targets_BC);
  };
  return trace_program("score_choices", fn, std::move(inputs), score_results(B), parts.mesh);
}

}  // namespace axle
