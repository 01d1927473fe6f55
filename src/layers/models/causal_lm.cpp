#include "layers/models/causal_lm.h"

#include "config/register.h"
#include "layers/models/model.h"
#include "layers/models/token_losses.h"

namespace axle {

CausalLM::CausalLM(const Config& cfg, const Dims&, const Scope& scope)
    : Model(scope),
      z_loss_scale_(cfg.z_loss_scale),
      loss_chunk_len_(cfg.loss_chunk_len),
      decoder_(child("decoder", cfg.decoder, {})) {}

ModelOutput CausalLM::losses(const Tree<Tensor>& batch, const TokenLoss* further) {
  const Tensor labels_BT = batch_tensor(batch, "target_labels", *this);
  const Tensor ids_BT = batch_tensor(batch, "input_ids", *this);
  const MixerContext context = context_of(batch);
  const auto chunks = chunks_of_losses(*this, *decoder_, ids_BT.shape(), loss_chunk_len_);
  const LossSums sums = chunks ? head_loss_sums(*decoder_, decoder_->hidden(ids_BT, context),
                                                labels_BT, chunks, further)
                               : loss_sums(decoder_(ids_BT, context), labels_BT, further);
  ModelOutput out = mean_losses(sums, num_targets_of(labels_BT, sums), z_loss_scale_, further);
  take_aux_losses(out);
  return out;
}

ModelOutput CausalLM::forward(const Tree<Tensor>& batch) { return losses(batch, nullptr); }

ModelOutput CausalLM::forward_with(const Tree<Tensor>& batch, const TokenLoss& further) {
  return losses(batch, &further);
}

Tensor CausalLM::hidden_forward(const Tree<Tensor>& batch) {
  return decoder_->hidden(batch_tensor(batch, "input_ids", *this), context_of(batch));
}

Tensor CausalLM::head_forward(const Tensor& x_BTD) { return decoder_->logits_of(x_BTD); }

Tensor CausalLM::cross_entropy_forward(const Tree<Tensor>& batch) {
  return cross_entropy_of_labels(*this, *decoder_, batch_tensor(batch, "input_ids", *this),
                                 context_of(batch), batch_tensor(batch, "target_labels", *this),
                                 loss_chunk_len_);
}

Tensor CausalLM::logits_forward(const Tree<Tensor>& batch) {
  return decoder_(batch_tensor(batch, "input_ids", *this), context_of(batch));
}

Tensor CausalLM::next_logits_forward(const Tree<Tensor>& batch) {
  return decoder_->next_logits(batch_tensor(batch, "input_ids", *this), context_of(batch));
}

AXLE_REGISTER(CausalLM)

LmHead::LmHead(const Config& cfg, const Dims& dims, const Scope& scope)
    : Projection(scope),
      weight_(param("weight", {.shape = {dims.output_dim, dims.input_dim},
                               .mesh_axes = {dims.output_axes, dims.input_axes},
                               .fan = {.in = {-1}, .out = {-2}}})),
      product_(child("product", cfg.product, product_dims("...d,vd->...v", *this, weight_))) {}

Tensor LmHead::forward(const Tensor& x) { return product_(x, weight_()); }

AXLE_REGISTER(LmHead)

}  // namespace axle
