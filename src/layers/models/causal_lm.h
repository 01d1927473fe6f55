// A causal language model with its loss.
#pragma once

#include "layers/dense/linear.h"
#include "layers/models/decoder.h"
#include "layers/models/model.h"
#include "layers/products/product.h"

namespace axle {

/// Computes the loss: the mean of cross entropy + z_loss_scale * log(sum(exp(logits)))^2 over the
/// targets >= 0, plus the sum of all auxiliary losses.
///
/// Numerics: the loss is f32 for any dtype of the logits.
/// Metrics: "cross_entropy" (mean), "accuracy" (the share of targets that have the largest logit)
/// and "num_targets"; "z_loss" if z_loss_scale is not 0; "aux_loss" and "aux_loss/<name>" if a
/// layer added one.
class CausalLM final : public Model {
 public:
  struct Config {
    /// Computes the logits of token ids.
    Child<Decoder> decoder = Decoder::Config{};
    /// Weight of the squared log of the partition function; 0: no z-loss.
    NonNegative<double> z_loss_scale = 0;
    /// Positions of a row whose logits are computed at once for a loss; the backward pass computes
    /// them again. At least the length of the row: all, without that. None: as many as have 2^26
    /// logits on a device.
    std::optional<Positive<int64_t>> loss_chunk_len = {};
    AXLE_CONFIG(CausalLM, decoder, z_loss_scale, loss_chunk_len)
  };
  CausalLM(const Config& cfg, const Dims&, const Scope& scope);
  bool can_decode() const override { return true; }
  int64_t vocab_size() const override { return decoder_->vocab_size(); }
  std::optional<int64_t> max_seq_len() const override { return decoder_->max_seq_len(); }

 protected:
  ModelOutput forward(const Tree<Tensor>& batch) override;
  ModelOutput forward_with(const Tree<Tensor>& batch, const TokenLoss& further) override;
  Tensor hidden_forward(const Tree<Tensor>& batch) override;
  Tensor head_forward(const Tensor& x_BTD) override;
  Tensor cross_entropy_forward(const Tree<Tensor>& batch) override;
  Tensor logits_forward(const Tree<Tensor>& batch) override;
  Tensor next_logits_forward(const Tree<Tensor>& batch) override;

 private:
  ModelOutput losses(const Tree<Tensor>& batch, const TokenLoss* further);

  NonNegative<double> z_loss_scale_;
  std::optional<int64_t> loss_chunk_len_;
  Handle<Decoder> decoder_;
};

/// x[..., D] -> logits[..., V], dtype of x. Parameters: weight[V, D], laid out like an embedding.
class LmHead final : public Projection {
 public:
  struct Config {
    /// Multiplies x by the weight.
    Child<Product> product = PlainProduct::Config{};
    AXLE_CONFIG(LmHead, product)
  };
  LmHead(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Param weight_;
  Handle<Product> product_;
};

}  // namespace axle
