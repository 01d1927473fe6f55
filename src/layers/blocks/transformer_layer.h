// One transformer layer: attention, then feed-forward, each with its own residual.
#pragma once

#include "layers/attention/attention.h"
#include "layers/blocks/pre_norm.h"
#include "layers/feed_forward/feed_forward.h"

namespace axle {

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
