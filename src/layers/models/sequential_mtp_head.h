// A head for multi-token prediction that continues the head before it.
//
// Source: DeepSeek-AI 2024, "DeepSeek-V3 Technical Report", arXiv 2412.19437, section 2.2.
#pragma once

#include "layers/blocks/transformer_layer.h"
#include "layers/dense/linear.h"
#include "layers/models/mtp_head.h"
#include "layers/norms/rms_norm.h"

namespace axle {

/// h_k = layer(proj(concat(token_norm(tokens), hidden_norm(h_{k-1})))), so that the heads keep the
/// whole causal chain of tokens.
///
/// The order within the concatenation is that of the released weights of DeepSeek-V3, whose names
/// are model.layers.L.{hnorm, enorm, eh_proj} and, for `layer`, those of a layer of the decoder.
class SequentialMtpHead final : public MtpHead {
 public:
  struct Config {
    /// Norm of the result of the head before.
    Child<Norm> hidden_norm = RMSNorm::Config{};
    /// Norm of the embedded tokens.
    Child<Norm> token_norm = RMSNorm::Config{};
    /// Projects both, one after the other, to the model dim.
    Child<Projection> proj = Linear::Config{.bias = false};
    /// The block that computes the result.
    Child<Block> layer = TransformerLayer::Config{};
    AXLE_CONFIG(SequentialMtpHead, hidden_norm, token_norm, proj, layer)
  };
  SequentialMtpHead(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const MtpInputs& inputs, const MixerContext& context) override;

 private:
  Handle<Norm> hidden_norm_, token_norm_;
  Handle<Projection> proj_;
  Handle<Block> layer_;
};

}  // namespace axle
