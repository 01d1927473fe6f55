// Attention by blocks of queries and keys: no tensor of T x S elements, neither forward nor
// backward.
//
// Source: Rabe and Staats 2021, arXiv 2112.05682; Dao et al. 2022, arXiv 2205.14135, algorithm 4 of
//   its appendix for the gradients.
#pragma once

#include <functional>

#include "layers/attention/cores/attention_core.h"
#include "layers/attention/cores/block_plan.h"

namespace axle {

/// What a core computes for a block of queries and keys.
struct BlockScores {
  /// Returns f32 scores in the layout of HeadGroups: logits, whose hidden keys are far below
  /// kLeastLogit, or the weights themselves and their largest logit, a scalar. Called once, in a
  /// trace of its own. It may use outer tensors, which get gradients.
  std::function<Values(const Tensor& q_BTNH, const Tensor& k_BSKH, const Visibility&)> of_block;
  /// True: the weights are the softmax of the scores. False: they are the scores.
  bool are_logits = true;
  /// Drops some of the weights of the block whose queries and keys begin at the i32 scalars, and
  /// scales the others; linear in the weights. Called once, as of_block is. None: nothing is
  /// dropped.
  std::function<Tensor(const Tensor& weights, const Tensor& query_begin, const Tensor& key_begin)>
      dropped = {};
  /// The logit of a key without a value that every query sees, f32[N]; none: there is no such key.
  std::optional<Tensor> sink_N = {};
};

/// The largest logit so far before there is one. Logits below it count as hidden.
inline constexpr double kLeastLogit = -1e14;

struct BlockwiseResult {
  Tensor y_BTNH;
  /// The largest logit of all blocks, f32; no gradient goes through it.
  Tensor max_logit;
};

/// Returns the sum of the values by their weights, zeros for a query that sees no key. The backward
/// pass computes the scores again; what it keeps is the result and, for logits, the log-sum-exp of
/// each query in two parts, f32[B, T, N] each; in bf16 also what rounding took from the result.
BlockwiseResult attend_by_blocks(const BlockScores& scores, const BlockPlan& plan,
                                 const Tensor& q_BTNH, const KeyValues& keys,
                                 const Visibility& visibility);

}  // namespace axle
