// A causal language model that is also trained to predict the tokens after the next one.
//
// Source: DeepSeek-AI 2024, "DeepSeek-V3 Technical Report", arXiv 2412.19437, section 2.2, with
// SequentialMtpHead; Gloeckle et al. 2024, arXiv 2404.19737, with ParallelMtpHead.
#pragma once

#include <vector>

#include "layers/blocks/norm_placements.h"
#include "layers/dense/linear.h"
#include "layers/mixer.h"
#include "layers/models/causal_lm.h"
#include "layers/norms/norm.h"

namespace axle {

// The role MtpHead: predicts a token further ahead than the next one, in training.
//
// Letters in tensor names from here on:
//   B batch   T positions   D model dim

/// What the head for the k-th token after the next one reads. Position i of a row knows the tokens
/// up to i + k.
struct MtpInputs {
  /// The input of the model's LM head.
  Tensor trunk_BTD;
  /// The result of head k - 1; for k = 1 the trunk.
  Tensor previous_BTD;
  /// The embedded token i + k at position i; zeros after the end of its segment.
  Tensor tokens_BTD;

  template <class F>
  void each_field(F&& fn) {
    fn("trunk", trunk_BTD);
    fn("previous", previous_BTD);
    fn("tokens", tokens_BTD);
  }
  static MtpInputs read(InputReader& inputs, const std::string& prefix);
};

/// inputs -> h_BTD, from which a norm and the LM head of the model predict token i + k + 1. Dtype
/// of the trunk.
class MtpHead
    : public LayerRole<MtpHead, Tensor(const MtpInputs& inputs, const MixerContext& context)> {
 public:
  using Dims = MixerDims;
  static constexpr InputNames kInputs = {"inputs", "context"};
  using LayerRole::LayerRole;

 protected:
  friend LayerRole;
  static PartitionSpec activation() { return kTokenAxes; }
  void check_result(const Tensor& h_BTD, const MtpInputs& inputs, const MixerContext&) const {
    expect_result(h_BTD, inputs.trunk_BTD.type());
  }
};

// A head for multi-token prediction that continues the head before it.
//
// Source: DeepSeek-AI 2024, "DeepSeek-V3 Technical Report", arXiv 2412.19437, section 2.2.

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

/// Number of heads for later tokens. Each runs a layer over all positions.
using MtpDepth = Ranged<int64_t, Bounds{.min = 1, .max = 64}>;

/// CausalLM with heads 1 to mtp_depth. Head k predicts token i + k + 1 from position i, with the
/// embedding and the LM head of the decoder. The loss of CausalLM grows by mtp_scale / mtp_depth
/// times the sum of the cross entropies of the heads. Each is a sum over the targets in reach,
/// divided by the number of all targets, as in the source. A target in another segment, or after
/// the end of the row, is not in reach.
///
/// Fields and parameters of CausalLM keep their names and paths, so that
///   replace_config<CausalLM>(cfg, MultiTokenLM::Config{})
/// adds the heads. Decoding does not run them.
///
/// Parameters: decoder/..., and for each k mtp_head<k>/... and mtp_norm<k>/... .
/// Metrics: as of CausalLM; "mtp_cross_entropy/<k>" for each head, and "mtp_loss", which is part
/// of the loss.
class MultiTokenLM final : public Model {
 public:
  struct Config {
    /// Computes the logits of token ids.
    Child<Decoder> decoder = Decoder::Config{};
    /// Number of heads. The head k predicts k tokens further than the next one.
    MtpDepth mtp_depth = 1;
    /// The heads; each has its own parameters.
    Child<MtpHead> mtp_head = SequentialMtpHead::Config{};
    /// Norm of the result of a head, before the LM head of the decoder.
    Child<Norm> mtp_norm = RMSNorm::Config{};
    /// Weight of the mean loss of the heads.
    NonNegative<double> mtp_scale = 0.3;
    /// Weight of the squared log of the partition function; 0: no z-loss.
    NonNegative<double> z_loss_scale = 0;
    /// Positions of a row whose logits are computed at once for a loss; the backward pass computes
    /// them again. At least the length of the row: all, without that. None: as many as have 2^26
    /// logits on a device.
    std::optional<Positive<int64_t>> loss_chunk_len = {};
    AXLE_CONFIG(MultiTokenLM, decoder, mtp_depth, mtp_head, mtp_norm, mtp_scale, z_loss_scale,
                loss_chunk_len)
  };
  MultiTokenLM(const Config& cfg, const Dims&, const Scope& scope);
  bool can_decode() const override { return true; }
  int64_t vocab_size() const override { return decoder_->vocab_size(); }
  std::optional<int64_t> max_seq_len() const override { return decoder_->max_seq_len(); }
  /// The caches of the decoder; the heads have none.
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;

 protected:
  ModelOutput forward(const Tree<Tensor>& batch) override;
  ModelOutput forward_with(const Tree<Tensor>& batch, const TokenLoss& further) override;
  Tensor hidden_forward(const Tree<Tensor>& batch) override;
  Tensor head_forward(const Tensor& x_BTD) override;
  Tensor cross_entropy_forward(const Tree<Tensor>& batch) override;
  Tensor logits_forward(const Tree<Tensor>& batch) override;
  Tensor next_logits_forward(const Tree<Tensor>& batch) override;

 private:
  struct Head {
    Handle<MtpHead> head;
    Handle<Norm> norm;
  };
  ModelOutput losses(const Tree<Tensor>& batch, const TokenLoss* further);

  double mtp_scale_, z_loss_scale_;
  std::optional<int64_t> loss_chunk_len_;
  Handle<Decoder> decoder_;
  std::vector<Head> heads_;
};

// A head for multi-token prediction that is independent of the other heads.
//
// Source: Gloeckle et al. 2024, "Better & Faster Large Language Models via Multi-token Prediction",
// arXiv 2404.19737, section 2.

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
