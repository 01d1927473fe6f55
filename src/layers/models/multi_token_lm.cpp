#include "layers/models/multi_token_lm.h"

#include <fmt/format.h>

#include "base/lists.h"
#include "config/register.h"
#include "layers/models/model.h"
#include "layers/models/token_losses.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"

namespace axle {

MtpInputs MtpInputs::read(InputReader& inputs, const std::string& prefix) {
  return {.trunk_BTD = inputs.required(prefix + "/trunk"),
          .previous_BTD = inputs.required(prefix + "/previous"),
          .tokens_BTD = inputs.required(prefix + "/tokens")};
}

SequentialMtpHead::SequentialMtpHead(const Config& cfg, const Dims& dims, const Scope& scope)
    : MtpHead(scope),
      hidden_norm_(child("hidden_norm", cfg.hidden_norm, {.input_dim = dims.model_dim})),
      token_norm_(child("token_norm", cfg.token_norm, {.input_dim = dims.model_dim})),
      proj_(child("proj", cfg.proj,
                  {.input_dim = saturating_product(dims.model_dim, 2),
                   .output_dim = dims.model_dim,
                   .input_axes = kModelDimAxes,
                   .output_axes = kShardAxes})),
      layer_(child("layer", cfg.layer, dims)) {}

Tensor SequentialMtpHead::forward(const MtpInputs& inputs, const MixerContext& context) {
  const Tensor tokens_BTD = token_norm_(inputs.tokens_BTD);
  const Tensor hidden_BTD = hidden_norm_(inputs.previous_BTD);
  const Tensor x_BTD = proj_(concatenate({tokens_BTD, hidden_BTD}, -1));
  return layer_(constrain(x_BTD, kTokenAxes), context);
}

AXLE_REGISTER(SequentialMtpHead)

namespace {

// Returns x[:, i + k] at position i, and `fill` after the end.
Tensor shifted(const Tensor& x, int64_t k, double fill) {
  k = std::min(k, x.dim(1));
  return pad_in_dim(slice_in_dim(x, 1, k, x.dim(1)), 1, 0, k, fill);
}

// Returns x[:, i + k] at position i, and `fill` where that is in another segment.
Tensor ahead(const Tensor& x, const std::optional<Tensor>& segment_ids_BT, int64_t k, double fill) {
  const Tensor out = shifted(x, k, fill);
  if (!segment_ids_BT) return out;
  Tensor same = equal(*segment_ids_BT, shifted(*segment_ids_BT, k, -1));
  while (same.rank() < out.rank()) same = expand_dims(same, -1);
  return select(same, out, fill);
}

}  // namespace

MultiTokenLM::MultiTokenLM(const Config& cfg, const Dims&, const Scope& scope)
    : Model(scope),
      mtp_scale_(cfg.mtp_scale),
      z_loss_scale_(cfg.z_loss_scale),
      loss_chunk_len_(cfg.loss_chunk_len),
      decoder_(child("decoder", cfg.decoder, {})) {
  const int64_t model_dim = decoder_->model_dim();
  // If one head cannot be built, the others of the same config cannot either.
  for (int64_t k = 1; k <= cfg.mtp_depth && !has_unbuilt_child(); ++k) {
    auto head =
        child(fmt::format("mtp_head{}", k), cfg.mtp_head, {.model_dim = model_dim}, "mtp_head");
    auto norm =
        child(fmt::format("mtp_norm{}", k), cfg.mtp_norm, {.input_dim = model_dim}, "mtp_norm");
    heads_.push_back({std::move(head), std::move(norm)});
  }
}

Tree<StateSpec> MultiTokenLM::decode_state_specs(const DecodeDims& dims) const {
  return decoder_->decode_state_specs(dims);
}

ModelOutput MultiTokenLM::losses(const Tree<Tensor>& batch, const TokenLoss* further) {
  const Tensor labels_BT = batch_tensor(batch, "target_labels", *this);
  const Tensor ids_BT = batch_tensor(batch, "input_ids", *this);
  const MixerContext context = context_of(batch);
  const Tensor trunk_BTD = decoder_->hidden(ids_BT, context);
  const auto chunks = chunks_of_losses(*this, *decoder_, ids_BT.shape(), loss_chunk_len_);
  const auto sums_of = [&](const Tensor& x_BTD, const Tensor& labels, const TokenLoss* more) {
    return head_loss_sums(*decoder_, x_BTD, labels, chunks, more);
  };
  const LossSums next = sums_of(trunk_BTD, labels_BT, further);
  const Tensor num_targets = num_targets_of(labels_BT, next);
  ModelOutput out = mean_losses(next, num_targets, z_loss_scale_, further);

  const Tensor tokens_BTD = decoder_->embed(ids_BT);
  Tensor hidden_BTD = trunk_BTD, total;
  for (size_t i = 0; i < heads_.size(); ++i) {
    const auto k = static_cast<int64_t>(i) + 1;
    hidden_BTD = heads_[i].head(
        {trunk_BTD, hidden_BTD, ahead(tokens_BTD, context.segment_ids, k, 0)}, context);
    const Tensor x_BTD = heads_[i].norm(hidden_BTD);
    const LossSums sums = sums_of(x_BTD, ahead(labels_BT, context.segment_ids, k, -1), nullptr);
    const Tensor mean = sums.cross_entropy / maximum(num_targets, 1);
    out.metrics.emplace(fmt::format("mtp_cross_entropy/{}", k), mean);
    total = total ? total + mean : mean;
  }
  add_loss(out, "mtp_loss", total * (mtp_scale_ / static_cast<double>(heads_.size())));
  take_aux_losses(out);
  return out;
}

ModelOutput MultiTokenLM::forward(const Tree<Tensor>& batch) { return losses(batch, nullptr); }

ModelOutput MultiTokenLM::forward_with(const Tree<Tensor>& batch, const TokenLoss& further) {
  return losses(batch, &further);
}

Tensor MultiTokenLM::hidden_forward(const Tree<Tensor>& batch) {
  return decoder_->hidden(batch_tensor(batch, "input_ids", *this), context_of(batch));
}

Tensor MultiTokenLM::head_forward(const Tensor& x_BTD) { return decoder_->logits_of(x_BTD); }

Tensor MultiTokenLM::cross_entropy_forward(const Tree<Tensor>& batch) {
  return cross_entropy_of_labels(*this, *decoder_, batch_tensor(batch, "input_ids", *this),
                                 context_of(batch), batch_tensor(batch, "target_labels", *this),
                                 loss_chunk_len_);
}

Tensor MultiTokenLM::logits_forward(const Tree<Tensor>& batch) {
  return decoder_(batch_tensor(batch, "input_ids", *this), context_of(batch));
}

Tensor MultiTokenLM::next_logits_forward(const Tree<Tensor>& batch) {
  return decoder_->next_logits(batch_tensor(batch, "input_ids", *this), context_of(batch));
}

AXLE_REGISTER(MultiTokenLM)

ParallelMtpHead::ParallelMtpHead(const Config& cfg, const Dims& dims, const Scope& scope)
    : MtpHead(scope), layer_(child("layer", cfg.layer, dims)) {}

Tensor ParallelMtpHead::forward(const MtpInputs& inputs, const MixerContext& context) {
  return layer_(inputs.trunk_BTD, context);
}

AXLE_REGISTER(ParallelMtpHead)

}  // namespace axle
