// Residual blocks: how the result of a body joins the stream, and where norms are applied: before,
// after, both, and parallel branches.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   D model dim
#pragma once

#include "layers/attention/attention.h"
#include "layers/dropout/dropout.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/mixer.h"
#include "layers/norms/norm.h"

namespace axle {

// The role Join: how a block joins the result of its body with its input.

/// x_BTD and the result of the body y_BTD -> z_BTD, dtype of x.
class Join : public LayerRole<Join, Tensor(const Tensor& x_BTD, const Tensor& y_BTD)> {
 public:
  /// Empty: a join needs no sizes.
  struct Dims {
    AXLE_CONFIG(Dims)
  };
  static constexpr InputNames kInputs = {"x", "y"};
  static constexpr bool kKeepsType = true;
  using LayerRole::LayerRole;
  /// A join looks only at its own position.
  bool can_decode() const override { return true; }
};

/// z = x + weight * y.
class Add final : public Join {
 public:
  struct Config {
    /// Factor of the body's result: any number.
    double weight = 1;
    static constexpr std::string_view kFromNumber = "weight";
    AXLE_CONFIG(Add, weight)
  };
  Add(const Config& cfg, const Dims&, const Scope& scope) : Join(scope), weight_(cfg.weight) {}

 protected:
  Tensor forward(const Tensor& x_BTD, const Tensor& y_BTD) override;

 private:
  double weight_;
};

extern template class LayerRole<Join, Join::Signature>;

/// z = x + sigmoid(gate) * y. Parameter: gate, one f32|bf16 scalar.
///
/// Summary: "gate", sigmoid(gate).
class GatedAdd final : public Join {
 public:
  struct Config {
    /// The gate before the sigmoid at the start: any number.
    double initial = 0;
    AXLE_CONFIG(GatedAdd, initial)
  };
  GatedAdd(const Config& cfg, const Dims&, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x_BTD, const Tensor& y_BTD) override;

 private:
  Param gate_;
};

/// z = join(x, drop(y)): training leaves out the body's result in some rows of the batch.
class StochasticJoin final : public Join {
 public:
  struct Config {
    /// Drops y.
    Child<StochasticDepth> drop = StochasticDepth::Config{};
    /// Joins x with what is left of y.
    Child<Join> join = Add::Config{};
    AXLE_CONFIG(StochasticJoin, drop, join)
  };
  StochasticJoin(const Config& cfg, const Dims&, const Scope& scope)
      : Join(scope), drop_(child("drop", cfg.drop, {})), join_(child("join", cfg.join, {})) {}

 protected:
  Tensor forward(const Tensor& x_BTD, const Tensor& y_BTD) override;

 private:
  Handle<StochasticDepth> drop_;
  Handle<Join> join_;
};

/// x -> out_norm(join(x, dropout(body_norm(body(in_norm(x)))))), where each norm may be none. The
/// blocks below are its forms: each has a config of its own and says which norms it has.
class NormedResidual : public Block {
 public:
  bool can_decode() const override { return true; }

 protected:
  using AnyNorm = std::optional<Handle<Norm>>;
  using Block::Block;
  /// `cfg` has the fields norm, body, dropout and join; its norm stands at this position.
  template <class Config>
  NormedResidual(const Config& cfg, const Dims& dims, const Scope& scope,
                 AnyNorm NormedResidual::*norm)
      : Block(scope) {
    this->*norm = child("norm", cfg.norm, {.input_dim = dims.model_dim});
    body_ = child("body", cfg.body, dims);
    dropout_ = child("dropout", cfg.dropout, {});
    join_ = child("join", cfg.join, {});
  }
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) final;

  AnyNorm in_norm_, body_norm_, out_norm_;
  Handle<Mixer> body_{nullptr};
  std::optional<Handle<Dropout>> dropout_;
  Handle<Join> join_{nullptr};
};

// A residual around a mixer; the norm precedes the mixer.
//
// Source: Xiong et al. 2020, arXiv 2002.04745.

/// x -> join(x, dropout(body(norm(x)))). Shapes: x_BTD -> y_BTD, dtype of x.
class PreNorm final : public NormedResidual {
 public:
  struct Config {
    /// Norm before the body.
    Child<Norm> norm = RMSNorm::Config{};
    /// The mixer inside the residual.
    Child<Mixer> body = {};
    /// Dropout on the result of the body; none: no dropout.
    std::optional<Child<Dropout>> dropout = {};
    /// Joins the result of the body with x.
    Child<Join> join = Add::Config{};
    AXLE_CONFIG(PreNorm, norm, body, dropout, join)
  };
  PreNorm(const Config& cfg, const Dims& dims, const Scope& scope)
      : NormedResidual(cfg, dims, scope, &PreNorm::in_norm_) {}
};

// A residual around a mixer; the norm follows the residual.
//
// Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.1.

/// x -> norm(join(x, dropout(body(x)))). Shapes: x_BTD -> y_BTD, dtype of x.
class PostNorm final : public NormedResidual {
 public:
  struct Config {
    /// Norm after the residual.
    Child<Norm> norm = RMSNorm::Config{};
    /// The mixer inside the residual.
    Child<Mixer> body = {};
    /// Dropout on the result of the body; none: no dropout.
    std::optional<Child<Dropout>> dropout = {};
    /// Joins the result of the body with x.
    Child<Join> join = Add::Config{};
    AXLE_CONFIG(PostNorm, norm, body, dropout, join)
  };
  PostNorm(const Config& cfg, const Dims& dims, const Scope& scope)
      : NormedResidual(cfg, dims, scope, &PostNorm::out_norm_) {}
};

// A residual around a mixer, with a norm on both sides of the mixer.
//
// Source: Ding et al. 2021, arXiv 2105.13290, section 2.4; Gemma Team 2024, arXiv 2408.00118,
//   section 2. AXLearn calls it "hybridnorm".

/// x -> join(x, dropout(post_norm(body(norm(x))))). Shapes: x_BTD -> y_BTD, dtype of x.
class HybridNorm final : public NormedResidual {
 public:
  struct Config {
    /// Norm before the body.
    Child<Norm> norm = RMSNorm::Config{};
    /// The mixer inside the residual.
    Child<Mixer> body = {};
    /// Norm of the result of the body.
    Child<Norm> post_norm = RMSNorm::Config{};
    /// Dropout on the result of the norm; none: no dropout.
    std::optional<Child<Dropout>> dropout = {};
    /// Joins the result with x.
    Child<Join> join = Add::Config{};
    AXLE_CONFIG(HybridNorm, norm, body, post_norm, dropout, join)
  };
  HybridNorm(const Config& cfg, const Dims& dims, const Scope& scope);
};

// A residual around a mixer with a norm at each possible position.
//
// Source: AXLearn, transformer structure "v2".

/// x -> out_norm(join(x, dropout(body_norm(body(in_norm(x)))))). A norm that is none is left out.
/// Shapes: x_BTD -> y_BTD, dtype of x.
class Sandwich final : public NormedResidual {
 public:
  struct Config {
    /// Norm before the body; none: no norm.
    std::optional<Child<Norm>> in_norm = RMSNorm::Config{};
    /// The mixer inside the residual.
    Child<Mixer> body = {};
    /// Norm of the result of the body; none: no norm.
    std::optional<Child<Norm>> body_norm = {};
    /// Dropout on the result of the body; none: no dropout.
    std::optional<Child<Dropout>> dropout = {};
    /// Joins the result with x.
    Child<Join> join = Add::Config{};
    /// Norm after the residual; none: no norm.
    std::optional<Child<Norm>> out_norm = RMSNorm::Config{};
    AXLE_CONFIG(Sandwich, in_norm, body, body_norm, dropout, join, out_norm)
  };
  Sandwich(const Config& cfg, const Dims& dims, const Scope& scope);
};

/// x -> body(x), published under a name for the layers after it (SourceQKV). Shapes: x_BTD ->
/// y_BTD.
class Published final : public Block {
 public:
  struct Config {
    /// The name under which the result is published.
    std::string name = "source";
    /// The block that computes the result.
    Child<Block> body = {};
    AXLE_CONFIG(Published, name, body)
  };
  Published(const Config& cfg, const Dims& dims, const Scope& scope)
      : Block(scope), name_(cfg.name), body_(child("body", cfg.body, dims)) {}
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override {
    const Tensor y_BTD = body_(x_BTD, context);
    publish(name_, y_BTD);
    return y_BTD;
  }

 private:
  std::string name_;
  Handle<Block> body_;
};

// Attention and feed-forward side by side.
//
// Source: Wang & Komatsuzaki 2021, GPT-J; Chowdhery et al. 2022, arXiv 2204.02311, section 2.

/// x -> join(x, dropout(attention(norm(x)) + feed_forward(norm(x)))). Shapes: x_BTD -> y_BTD, dtype
/// of x.
class ParallelBlock final : public Block {
 public:
  struct Config {
    /// Norm before both mixers.
    Child<Norm> norm = RMSNorm::Config{};
    /// The first mixer.
    Child<Mixer> attention = Attention::Config{};
    /// The second mixer.
    Child<Mixer> feed_forward = FeedForward::Config{};
    /// Dropout on the sum of both; none: no dropout.
    std::optional<Child<Dropout>> dropout = {};
    /// Joins the sum with x.
    Child<Join> join = Add::Config{};
    AXLE_CONFIG(ParallelBlock, norm, attention, feed_forward, dropout, join)
  };
  ParallelBlock(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  Handle<Norm> norm_;
  Handle<Mixer> attention_, feed_forward_;
  std::optional<Handle<Dropout>> dropout_;
  Handle<Join> join_;
};

/// x -> feed_forward(attention(x)). Shapes: x_BTD -> y_BTD, dtype of x.
class TransformerLayer final : public Block {
 public:
  struct Config {
    /// The first block: attention with its residual.
    Child<Block> attention = PreNorm::Config{.body = Attention::Config{}};
    /// The second block: feed-forward with its residual.
    Child<Block> feed_forward = PreNorm::Config{.body = FeedForward::Config{}};
    AXLE_CONFIG(TransformerLayer, attention, feed_forward)
  };
  TransformerLayer(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  Handle<Block> attention_;
  Handle<Block> feed_forward_;
};

}  // namespace axle
