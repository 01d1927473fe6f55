// A causal language model with its loss.
#pragma once

#include "layers/models/decoder.h"
#include "layers/models/model.h"

namespace axle {

/// Loss: mean over the targets >= 0 of cross entropy + z_loss_scale * log(sum(exp(logits)))^2, plus
/// all auxiliary losses.
///
/// Numerics: the loss is f32 whatever the dtype of the logits.
/// Metrics: "cross_entropy" (mean), "num_targets", "z_loss" and "aux_loss" where there is one.
class CausalLM final : public Model {
 public:
  struct Config {
    /// From token ids to logits.
    Child<Decoder> decoder = Decoder::Config{};
    /// Weight of the squared log of the partition function; 0: none.
    NonNegative<double> z_loss_scale = 0;
    AXLE_CONFIG(CausalLM, decoder, z_loss_scale)
  };
  CausalLM(const Config& cfg, const Dims&, const Scope& scope);
  bool can_decode() const override { return true; }
  int64_t vocab_size() const override { return decoder_->vocab_size(); }

 protected:
  ModelOutput forward(const Tree<Tensor>& batch) override;
  Tensor logits_forward(const Tree<Tensor>& batch) override;
  Tensor next_logits_forward(const Tree<Tensor>& batch) override;

 private:
  Tensor required(const Tree<Tensor>& batch, const std::string& key) const;

  NonNegative<double> z_loss_scale_;
  Handle<Decoder> decoder_;
};

}  // namespace axle
