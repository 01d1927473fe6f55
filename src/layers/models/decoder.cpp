#include "layers/models/decoder.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "layers/mesh_axes.h"
#include "ops/elementwise/elementwise.h"

namespace axle {

Decoder::Decoder(const Config& cfg, const Dims&, const Scope& scope)
    : LayerRole(scope),
      model_dim_(cfg.model_dim),
      vocab_size_(cfg.vocab_size),
      max_seq_len_(cfg.max_seq_len),
      logit_cap_(cfg.logit_cap),
      emb_(child("emb", cfg.emb, {.vocab_size = cfg.vocab_size, .model_dim = cfg.model_dim})),
      position_emb_(child("position_emb", cfg.position_emb,
                          {.model_dim = cfg.model_dim, .max_seq_len = cfg.max_seq_len})),
      dropout_(child("dropout", cfg.dropout, {})),
      layers_(child("layers", cfg.layers, {.model_dim = cfg.model_dim})),
      output_norm_(child("output_norm", cfg.output_norm, {.input_dim = cfg.model_dim})),
      lm_head_(child(
          "lm_head", cfg.lm_head,
          {.input_dim = cfg.model_dim, .output_dim = cfg.vocab_size, .input_axes = kShardAxes})) {}

Tensor Decoder::compute_hidden(const Tensor& ids_BT, const MixerContext& context) {
  if (ids_BT.rank() != 2) {
    throw ShapeError(
        fmt::format("{}: expected ids [B, T], got {}", config_path(), to_text(ids_BT.type())));
  }
  if (max_seq_len_ && ids_BT.dim(1) > *max_seq_len_) {
    throw ShapeError(fmt::format("{}: expected at most max_seq_len = {} positions, got {}",
                                 config_path(), *max_seq_len_, ids_BT.dim(1)));
  }
  Tensor x_BTD = emb_(ids_BT);
  if (position_emb_) x_BTD = (*position_emb_)(x_BTD, context.positions);
  if (dropout_) x_BTD = (*dropout_)(x_BTD);
  x_BTD = layers_(x_BTD, context);
  return constrain(output_norm_(x_BTD), kTokenAxes);
}

Tensor Decoder::head(const Tensor& x) {
  const Tensor logits = lm_head_ ? (*lm_head_)(x) : emb_->attend(x);
  if (!logit_cap_) return logits;
  return astype(soft_cap(astype(logits, wide_dtype(logits.dtype())), *logit_cap_), logits.dtype());
}

Tensor Decoder::forward(const Tensor& ids_BT, const MixerContext& context) {
  return constrain(head(compute_hidden(ids_BT, context)), kTokenPartsAxes);
}

Tensor Decoder::embed(const Tensor& ids_BT) {
  const Invocation::Frame frame(*this);
  return emb_(ids_BT);
}

Tensor Decoder::hidden(const Tensor& ids_BT, const MixerContext& context) {
  const Invocation::Frame frame(*this);
  Invocation::current().set_segment_ids(context.segment_ids);
  return compute_hidden(ids_BT, context);
}

Tensor Decoder::logits_of(const Tensor& x_BTD) {
  const Invocation::Frame frame(*this);
  return constrain(head(x_BTD), kTokenPartsAxes);
}

const Layer& Decoder::head_layer() const {
  return lm_head_ ? static_cast<const Layer&>(**lm_head_) : *emb_;
}

Tree<ParamSpec> Decoder::head_param_specs() const { return head_layer().param_specs(); }

std::string Decoder::why_whole() const {
  if (!head_layer().state_specs().empty()) return "the head keeps state";
  if (options().remat || options().activation || !options().stats.empty())
    return "an option of the decoder asks for the logits of the call";
  return {};
}

Tensor Decoder::next_logits(const Tensor& ids_BT, const MixerContext& context) {
  const Invocation::Frame frame(*this);
  Invocation::current().set_segment_ids(context.segment_ids);
  return head(context.last(compute_hidden(ids_BT, context)));
}

AXLE_REGISTER(Decoder::Dims)
AXLE_REGISTER(Decoder)

template class LayerRole<Decoder, Decoder::Signature>;

}  // namespace axle
