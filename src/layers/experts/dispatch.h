// The role Dispatch, tokens to experts and back: with a capacity for each expert, and sorted
// without one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/lists.h"
#include "ir/devices/mesh.h"
#include "layers/experts/router.h"

namespace axle {

/// The experts of a mixture.
struct Experts {
  /// Runs the experts whose parameters the current invocation has. Without sizes: x[E, .., D] ->
  /// y[E, .., D], where dim 0 counts the experts. With sizes i32[E]: x_MD -> y_MD, where the rows
  /// are sorted by expert and sizes counts the rows of each.
  std::function<Tensor(const Tensor& x, const std::optional<Tensor>& sizes_E)> run;
  /// Paths of their parameters. Dim 0 of each counts the experts.
  std::vector<std::string> parameters = {};

  Tensor operator()(const Tensor& x, const std::optional<Tensor>& sizes_E) const {
    return run(x, sizes_E);
  }
};

struct Dispatched {
  /// The sum over choices of weight * expert(x): [B, T, D], dtype of x.
  Tensor y_BTD;
  /// f32[K]: the share of first, second, .. choices that no expert took; none: all were taken.
  std::optional<Tensor> dropped_K = {};
};

/// Runs the experts on the tokens that a router sends them. Padding (real_tokens) of x_BTD is zeros
/// and its weights are 0; a dispatch with limited capacity gives it none.
class Dispatch {
 public:
  using Role = Dispatch;
  struct Dims {
    int64_t num_experts;
  };
  virtual ~Dispatch() = default;
  /// Returns the number of groups of tokens whose loads count apart; any, if each row is one.
  virtual int64_t num_groups() const { return 1; }
  /// Returns what the borders between these groups count in training (borders_of_call).
  virtual GroupBorders train_borders() const { return GroupBorders::kTokens; }
  /// True if an expert may be too full to take a token.
  virtual bool may_drop() const { return false; }
  /// Throws ShapeError if the tokens do not form these groups.
  virtual Dispatched run(const Tensor& x_BTD, const Routing& routing,
                         const Experts& experts) const = 0;
};

// Dispatch by products with one-hot tensors: each expert takes up to a fixed number of tokens.
//
// Source: Lepikhin et al. 2020, "GShard", arXiv 2006.16668, algorithm 1 and section 3.2; groups and
// outer batch as in Table 1 of arXiv 2405.15052.

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
    /// well, for any num_groups; none moves. positions: none moves, as published, but the amount
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
  /// Returns the capacity of groups with `tokens_N` tokens: i32[N] -> i32[N].
  Tensor capacities(const Tensor& tokens_N, int64_t group_size, int64_t num_choices) const;

  Config cfg_;
  int64_t num_experts_;
};

// Dispatch without capacity: tokens are sorted by expert, and each expert takes all of its tokens.
//
// Source: Gale et al. 2022, "MegaBlocks", arXiv 2211.15841, section 4.

/// Runs each expert on exactly the tokens that chose it, by ragged products. No choice is dropped
/// and no slot is empty, for any loads. Results are summed over choices in f32.
///
/// On a mesh, each device sorts its own tokens. Over the mesh axis `expert`, a device sends them to
/// the devices of their experts and gets the results back (ragged_all_to_all). Its buffer for what
/// it receives holds the largest possible load, so that nothing is dropped there either: with P
/// devices along the axis and N tokens on each, P * N * min(K, E / P) rows. The rows that are not
/// used are zeros and cost time in products.
class SortedDispatch final : public Dispatch {
 public:
  struct Config {
    AXLE_CONFIG(SortedDispatch)
  };
  SortedDispatch(const Config&, const Dims& dims, const Scope&) : num_experts_(dims.num_experts) {}
  Dispatched run(const Tensor& x_BTD, const Routing& routing,
                 const Experts& experts) const override;

 private:
  Tensor on_devices(const Tensor& x_BTD, const Routing& routing, const Experts& experts) const;

  int64_t num_experts_;
};

/// Returns the sum over choices of weight * expert(x) of the tokens x_ND; experts_NK i32 and
/// weights_NK f32 are their choices. `experts` runs all num_experts experts.
Tensor run_sorted(const Tensor& x_ND, const Tensor& experts_NK, const Tensor& weights_NK,
                  const Experts& experts, int64_t num_experts);

/// The same inside of a shard_map, for the tokens of one device. The experts are divided over
/// `axes`, in order, and `experts` runs this device's.
Tensor run_sorted_over(const DimAxes& axes, const Tensor& x_ND, const Tensor& experts_NK,
                       const Tensor& weights_NK, const Experts& experts, int64_t num_experts);

}  // namespace axle
