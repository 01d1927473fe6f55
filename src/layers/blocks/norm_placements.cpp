#include "layers/blocks/norm_placements.h"

#include "config/register.h"
#include "ops/elementwise/elementwise.h"

namespace axle {

Tensor Add::forward(const Tensor& x_BTD, const Tensor& y_BTD) {
  return x_BTD + (weight_ == 1 ? y_BTD : weight_ * y_BTD);
}

AXLE_REGISTER(Join::Dims)
AXLE_REGISTER(Add)

template class LayerRole<Join, Join::Signature>;

GatedAdd::GatedAdd(const Config& cfg, const Dims&, const Scope& scope)
    : Join(scope), gate_(param("gate", {.shape = {}, .init = Constant{cfg.initial}})) {}

Tensor GatedAdd::forward(const Tensor& x_BTD, const Tensor& y_BTD) {
  const Tensor open = sigmoid(gate_());
  add_summary("gate", astype(open, DType::kF32));
  return x_BTD + open * y_BTD;
}

AXLE_REGISTER(GatedAdd)

Tensor StochasticJoin::forward(const Tensor& x_BTD, const Tensor& y_BTD) {
  const Tensor kept_BTD = drop_(y_BTD);
  return join_(x_BTD, kept_BTD);
}

AXLE_REGISTER(StochasticJoin)

Tensor NormedResidual::forward(const Tensor& x_BTD, const MixerContext& context) {
  // The norm may run on a sequence that is sharded over more axes than the body allows
  // (SequenceParallel).
  Tensor y_BTD = constrain(in_norm_ ? (*in_norm_)(x_BTD, context.segment_ids) : x_BTD, kTokenAxes);
  y_BTD = body_(y_BTD, context);
  if (body_norm_) y_BTD = (*body_norm_)(y_BTD, context.segment_ids);
  if (dropout_) y_BTD = (*dropout_)(y_BTD);
  const Tensor z_BTD = join_(x_BTD, y_BTD);
  return out_norm_ ? (*out_norm_)(z_BTD, context.segment_ids) : z_BTD;
}

AXLE_REGISTER(PreNorm)
AXLE_REGISTER(PostNorm)

HybridNorm::HybridNorm(const Config& cfg, const Dims& dims, const Scope& scope)
    : NormedResidual(cfg, dims, scope, &HybridNorm::in_norm_) {
  body_norm_ = child("post_norm", cfg.post_norm, {.input_dim = dims.model_dim});
}

AXLE_REGISTER(HybridNorm)

Sandwich::Sandwich(const Config& cfg, const Dims& dims, const Scope& scope)
    : NormedResidual(scope) {
  in_norm_ = child("in_norm", cfg.in_norm, {.input_dim = dims.model_dim});
  body_ = child("body", cfg.body, dims);
  body_norm_ = child("body_norm", cfg.body_norm, {.input_dim = dims.model_dim});
  dropout_ = child("dropout", cfg.dropout, {});
  join_ = child("join", cfg.join, {});
  out_norm_ = child("out_norm", cfg.out_norm, {.input_dim = dims.model_dim});
}

AXLE_REGISTER(Sandwich)

AXLE_REGISTER(Published)

ParallelBlock::ParallelBlock(const Config& cfg, const Dims& dims, const Scope& scope)
    : Block(scope),
      norm_(child("norm", cfg.norm, {.input_dim = dims.model_dim})),
      attention_(child("attention", cfg.attention, dims)),
      feed_forward_(child("feed_forward", cfg.feed_forward, dims)),
      dropout_(child("dropout", cfg.dropout, {})),
      join_(child("join", cfg.join, {})) {}

Tensor ParallelBlock::forward(const Tensor& x_BTD, const MixerContext& context) {
  const Tensor normed_BTD = constrain(norm_(x_BTD, context.segment_ids), kTokenAxes);
  const Tensor attended_BTD = attention_(normed_BTD, context);
  const Tensor fed_BTD = feed_forward_(normed_BTD, context);
  const Tensor y_BTD = attended_BTD + fed_BTD;
  return join_(x_BTD, dropout_ ? (*dropout_)(y_BTD) : y_BTD);
}

AXLE_REGISTER(ParallelBlock)

TransformerLayer::TransformerLayer(const Config& cfg, const Dims& dims, const Scope& scope)
    : Block(scope),
      attention_(child("attention", cfg.attention, dims)),
      feed_forward_(child("feed_forward", cfg.feed_forward, dims)) {}

Tensor TransformerLayer::forward(const Tensor& x_BTD, const MixerContext& context) {
  const Tensor mixed_BTD = attention_(x_BTD, context);
  return feed_forward_(mixed_BTD, context);
}

AXLE_REGISTER(TransformerLayer)

}  // namespace axle
