// Attention and feed-forward side by side.
//
// Source: Wang & Komatsuzaki 2021, GPT-J; Chowdhery et al. 2022, arXiv 2204.02311, section 2.
#pragma once

#include "layers/attention/attention.h"
#include "layers/blocks/join.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/norms/rms_norm.h"

namespace axle {

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

}  // namespace axle
