// Dispatch by products with one-hot tensors: each expert takes up to a fixed number of tokens.
//
// Source: Lepikhin et al. 2020, "GShard", arXiv 2006.16668, algorithm 1 and section 3.2; groups and
// outer batch as in Table 1 of arXiv 2405.15052.
#pragma once

#include "base/checked.h"
#include "layers/experts/dispatch.h"

namespace axle {

/// Tokens form outer_batch * num_groups groups of equally many tokens, or each row is a group;
/// padding changes nothing then. In training they may also be of equally many consecutive positions
/// (train_borders). In each group, an expert takes at most C choices:
/// all first choices in the order of the tokens, then all second ones, and so on. The others are
/// dropped: they add nothing to the result. With S tokens in a group, without padding,
///   C = max(min_capacity, floor(S * capacity_factor / E)), at most S.
/// While decoding, all tokens of a call are one group with C = S: a token's result does not depend
/// on what else is in the call.
///
/// The tensor that dispatches has B * T * E * C elements, so that groups should be small.
/// Each device of the mesh axis `expert` holds its experts; groups are sharded over the axes of the
/// batch, and tokens move between devices by all-to-all.
class CapacityDispatch final : public Dispatch {
 public:
  struct Config {
    /// Outer part of the number of groups, sharded over the mesh axis `data`.
    Positive<int64_t> outer_batch = 1;
    /// Number of groups in each part of the outer batch, sharded over `expert` and `fsdp`.
    Positive<int64_t> num_groups = 1;
    /// Capacity in training, in units of the mean number of tokens per expert; none: top_k, which
    /// drops nothing if loads are balanced.
    std::optional<Positive<double>> train_capacity_factor = {};
    /// Capacity in evaluation; none: top_k.
    std::optional<Positive<double>> eval_capacity_factor = {};
    /// Least capacity of an expert.
    Positive<int64_t> min_capacity = 1;
    /// What the borders between groups count in training. tokens: padding changes nothing, and
    /// tokens move between the devices of the batch. rows: each row is a group, in evaluation as
    /// well, whatever num_groups is; none moves. places: none moves, as published, but the amount
    /// of padding moves borders.
    GroupBorders train_borders = GroupBorders::kTokens;
    AXLE_CONFIG(CapacityDispatch, outer_batch, num_groups, train_capacity_factor,
                eval_capacity_factor, min_capacity, train_borders)
  };
  CapacityDispatch(const Config& cfg, const Dims& dims, const Scope&);
  int64_t num_groups() const override {
    const bool are_rows = cfg_.train_borders == GroupBorders::kRows;
    return are_rows ? 1 : saturating_product(cfg_.outer_batch, cfg_.num_groups);
  }
  GroupBorders train_borders() const override { return cfg_.train_borders; }
  bool may_drop() const override { return true; }
  Dispatched run(const Tensor& x_BTD, const Routing& routing,
                 const Experts& experts) const override;

 private:
  int64_t capacity(int64_t num_tokens, int64_t num_choices) const;
  /// Returns the capacity of groups with so many tokens: i32[N] -> i32[N].
  Tensor capacities(const Tensor& tokens_N, int64_t group_size, int64_t num_choices) const;

  Config cfg_;
  int64_t num_experts_;
};

}  // namespace axle
