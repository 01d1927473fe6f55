// The logits that softmax and sigmoid attention share.
#pragma once

#include "config/fields.h"
#include "layers/attention/cores/attention_core.h"
#include "layers/attention/cores/block_plan.h"
#include "layers/dropout/dropout.h"
#include "nn/layer.h"

namespace axle {

// A learned scale for each element of a head.
//
// Source: AXLearn, PerDimScale; used by PaLM-2-like models.

/// y = x * softplus(scale) / softplus(0), over the last dim. Parameter: scale[head_dim], initially
/// zeros, so that y = x.
class PerDimScale final : public LayerRole<PerDimScale, Tensor(const Tensor& x)> {
 public:
  /// The size of the last dim of x, given by the core.
  struct Dims {
    /// Size of one head.
    Positive<int64_t> head_dim;
    AXLE_CONFIG(Dims, head_dim)
  };
  static constexpr InputNames kInputs = {"x"};
  struct Config {
    AXLE_CONFIG(PerDimScale)
  };
  PerDimScale(const Config&, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Param scale_;
};

/// Where a core computes by blocks of queries and keys, without a tensor of T x S elements.
struct AttentionBlocks {
  /// Calls with at least as many pairs of a query and a key as rows of this length have are
  /// computed by blocks if that takes less time, since the mask hides a fifth of the blocks or
  /// more, or if a device would hold more than 2^26 scores of the call. Calls with 16 times as many
  /// pairs are computed by blocks in any case. None: all calls are computed at once.
  std::optional<Positive<int64_t>> from = 2048;
  /// Queries of a block, at most; where devices share the queries of a row, a divisor of their part
  /// of it. Blocks of queries and keys are halved, down to 128, where this saves a third of the
  /// scores or more: a window is narrower than a block.
  Positive<int64_t> queries = 1024;
  /// Keys of a block, at most.
  Positive<int64_t> keys = 1024;
  static constexpr auto kKeepsResults =
      std::to_array<std::string_view>({"from", "queries", "keys"});
  AXLE_CONFIG(AttentionBlocks, from, queries, keys)
};

/// A core that computes weights from the logits cap(scale * (q k^T + position scores)) + bias, f32.
///
/// Summary: "max_logit", the largest logit of a key that a query sees (scalar, f32).
class ScoredCore : public AttentionCore {
 protected:
  /// `cfg` has the fields scale, per_dim_scale, logit_cap and dropout. It may have `blocks`; the
  /// calls of a core without it are all computed at once.
  template <class Config>
  ScoredCore(const Config& cfg, const Dims& dims, const Scope& scope)
      : AttentionCore(scope),
        scale_(cfg.scale ? double{*cfg.scale} : 1 / std::sqrt(static_cast<double>(dims.head_dim))),
        logit_cap_(cfg.logit_cap),
        per_dim_scale_(child("per_dim_scale", cfg.per_dim_scale, {.head_dim = dims.head_dim})),
        dropout_(child("dropout", cfg.dropout, {})) {
    if constexpr (requires { cfg.blocks; }) blocks_ = cfg.blocks;
  }

  Tensor forward(const Tensor& q_BTNH, const KeyValues& keys, const Visibility& visibility) final;
  bool zeroes_unseen() const final { return true; }
  /// Returns the weight of each key, in the layout of `heads`, dtype `result`. `logits` of keys
  /// that the query does not see are hidden by kHiddenLogit.
  virtual Tensor weights(const Tensor& logits, const HeadGroups& heads, DType result) = 0;
  /// What weights() does with the logits of a query. Calls with kAnything are computed at once.
  enum class Weights : uint8_t {
    kAnything,
    kSoftmax,  // the softmax of the logits and of sink(); blocks do not call weights()
    kEachKey,  // the weight of a key depends on its logit alone
  };
  virtual Weights kind_of_weights() const { return Weights::kAnything; }
  /// The cost of the scores of a pair of blocks, relative to as many scores of a call at once.
  virtual double block_cost() const { return 1; }
  /// Returns the logit of a key without a value that every query sees, f32[N]; none: there is none.
  virtual std::optional<Tensor> sink() { return {}; }
  /// Returns the queries for the products with the keys; by default q itself.
  virtual Tensor content_queries(const Tensor& q_BTNH) { return q_BTNH; }
  /// Returns what the positions add to these products, f32 [N, T, S] or [B, N, T, S]; an empty
  /// tensor, the default: nothing.
  virtual Tensor position_scores(const Tensor&, const Visibility&) { return {}; }

 private:
  Tensor logits(const Tensor& q_BTNH, const HeadGroups& heads, const Visibility& visibility);
  HeadGroups head_groups(const Tensor& q_BTNH, const KeyValues& keys);
  // How a call is computed, and why.
  struct Form {
    std::optional<BlockPlan> plan = {};  // none: at once
    std::string why;
  };
  Form form(const Tensor& q_BTNH, int64_t num_keys, const Visibility& visibility) const;
  BlockPlan plan(int64_t num_queries, int64_t num_keys, int64_t num_shares,
                 const Visibility& visibility) const;
  // Why calls are computed at once, at any size; empty: they need not be.
  std::string why_at_once(int64_t num_shares, const Visibility& visibility) const;
  Tensor by_blocks(const BlockPlan& plan, const Tensor& q_BTNH, const KeyValues& keys,
                   const Visibility& visibility);

  double scale_;
  std::optional<double> logit_cap_;
  std::optional<Handle<PerDimScale>> per_dim_scale_;
  std::optional<Handle<Dropout>> dropout_;
  AttentionBlocks blocks_{.from = std::nullopt};
};

// Softmax attention.
//
// Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.2.1. Logit cap: Gemma Team 2024, arXiv
//   2408.00118, section 2. Sinks: Xiao et al. 2023, arXiv 2309.17453, section 3.3.

/// y = softmax(logits) v. Logits and softmax are f32 for any dtype of the inputs.
///
/// Parameters: sink[num_heads] if `sink` is set, initially zeros: the logit of a key without a
/// value that every query sees.
class SoftmaxAttention final : public ScoredCore {
 public:
  struct Config {
    /// Factor of the queries; none: 1 / sqrt(head dim).
    std::optional<Positive<double>> scale = {};
    /// Learned factor of each element of a head; none: no such factor.
    std::optional<Child<PerDimScale>> per_dim_scale = {};
    /// Logits become cap * tanh(logits / cap); none: no cap.
    std::optional<Positive<double>> logit_cap = {};
    /// Dropout on the attention probabilities; none: no dropout.
    std::optional<Child<Dropout>> dropout = {};
    /// True: each head has a learned sink.
    bool sink = false;
    /// Which calls are computed by blocks.
    AttentionBlocks blocks = {};
    AXLE_CONFIG(SoftmaxAttention, scale, per_dim_scale, logit_cap, dropout, sink, blocks)
  };
  SoftmaxAttention(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor weights(const Tensor& logits, const HeadGroups& heads, DType result) override;
  Weights kind_of_weights() const override { return Weights::kSoftmax; }
  std::optional<Tensor> sink() override;

 private:
  std::optional<Param> sink_;
};

// Sigmoid attention.
//
// Source: Ramapuram et al. 2024, arXiv 2409.04431, section 2.

/// y = sigmoid(logits - log(bias_len)) v: the weight of a key does not depend on other keys. A
/// query that sees no key gets zeros.
class SigmoidAttention final : public ScoredCore {
 public:
  struct Config {
    /// Factor of the queries; none: 1 / sqrt(head dim).
    std::optional<Positive<double>> scale = {};
    /// Learned factor of each element of a head; none: no such factor.
    std::optional<Child<PerDimScale>> per_dim_scale = {};
    /// Logits become cap * tanh(logits / cap); none: no cap.
    std::optional<Positive<double>> logit_cap = {};
    /// Dropout on the weights; none: no dropout.
    std::optional<Child<Dropout>> dropout = {};
    /// The logarithm of this number of positions is taken from the logits, so that the weights of a
    /// row sum to about 1 at the start; none: nothing is taken.
    std::optional<Positive<int64_t>> bias_len = {};
    /// Which calls are computed by blocks.
    AttentionBlocks blocks = {};
    AXLE_CONFIG(SigmoidAttention, scale, per_dim_scale, logit_cap, dropout, bias_len, blocks)
  };
  SigmoidAttention(const Config& cfg, const Dims& dims, const Scope& scope)
      : ScoredCore(cfg, dims, scope), bias_len_(cfg.bias_len) {}

 protected:
  Tensor weights(const Tensor& logits, const HeadGroups& heads, DType result) override;
  Weights kind_of_weights() const override { return Weights::kEachKey; }

 private:
  std::optional<int64_t> bias_len_;
};

}  // namespace axle
