// The program that computes the likelihoods of tokens.
//
// Letters in tensor names, for this file only:
//   B rows   T positions of a row   C scored positions of a row   D model dim   V vocabulary
#pragma once

#include <optional>
#include <vector>

#include "base/tree.h"
#include "layers/models/model.h"
#include "lower/trace_program.h"
#include "transform/trace.h"

namespace axle {

/// Names the tensors, one for each value.
Tree<Tensor> named_values(const std::vector<ProgramValue>& values, const Tensor* tensors);

/// log_likelihoods f32[B] and are_greedy i32[B].
std::vector<ProgramValue> score_results(int64_t num_rows);
/// Returns these of logits_BCV, f32, and targets_BC, i32; -1 is none.
Values scored_targets(const Tensor& logits_BCV, const Tensor& targets_BC);

/// The sizes for which a program is compiled.
struct ScoringShape {
  int64_t num_rows = 1, row_len = 16, num_scored = 4;  // B, T, C
  auto operator<=>(const ScoringShape&) const = default;
};

struct ScoringParts {
  Model& model;
  std::optional<DType> compute_dtype = {};
  Mesh mesh = {};
  /// Mesh axes of the rows and of their positions.
  PartitionSpec batch_partition = {};
  /// Numbers for the position of each token; 0: none.
  int64_t num_streams = 0;
};

/// (decode_parameters, lengths i32[B], position_streams i32[B, T, n] if there are streams, starts
/// i32[B], targets i32[B, C], tokens i32[B, T]) -> (log_likelihoods f32[B], are_greedy i32[B]).
///
/// A row has `length` tokens; the rest is padding. Target c is scored at position start + c; -1 is
/// none. log_likelihoods are sums over the targets, in f32. A row is greedy if each target has the
/// largest logit of its position. The tokens before the targets are the row's prefix (PrefixMask).
/// The head computes the logits of scored positions alone.
Program scoring_program(const ScoringParts& parts, const ScoringShape& shape);

}  // namespace axle
