// A head for multi-token prediction that is independent of the other heads.
//
// Source: Gloeckle et al. 2024, "Better & Faster Large Language Models via Multi-token Prediction",
// arXiv 2404.19737, section 2.
#pragma once

#include "layers/blocks/transformer_layer.h"
#include "layers/models/mtp_head.h"

namespace axle {

/// h_k = layer(trunk): a block of its own on the common trunk, without the tokens in between.
class ParallelMtpHead final : public MtpHead {
 public:
  struct Config {
    /// The block that computes the result.
    Child<Block> layer = TransformerLayer::Config{};
    AXLE_CONFIG(ParallelMtpHead, layer)
  };
  ParallelMtpHead(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const MtpInputs& inputs, const MixerContext& context) override;

 private:
  Handle<Block> layer_;
};

}  // namespace axle
