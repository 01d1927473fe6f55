// A causal language model that is also trained to predict the tokens after the next one.
//
// Source: DeepSeek-AI 2024, "DeepSeek-V3 Technical Report", arXiv 2412.19437, section 2.2, with
// SequentialMtpHead; Gloeckle et al. 2024, arXiv 2404.19737, with ParallelMtpHead.
#pragma once

#include <vector>

#include "layers/models/causal_lm.h"
#include "layers/models/sequential_mtp_head.h"

namespace axle {

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
/// Metrics: those of CausalLM; "mtp_cross_entropy/<k>" for each head, and "mtp_loss", which is part
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

}  // namespace axle
