#include "layers/blocks/sandwich.h"

#include "config/register.h"

namespace axle {

Sandwich::Sandwich(const Config& cfg, const Dims& dims, const Scope& scope)
    : Block(scope),
      in_norm_(child("in_norm", cfg.in_norm, {.input_dim = dims.model_dim})),
      body_(child("body", cfg.body, dims)),
      body_norm_(child("body_norm", cfg.body_norm, {.input_dim = dims.model_dim})),
      dropout_(child("dropout", cfg.dropout, {})),
      join_(child("join", cfg.join, {})),
      out_norm_(child("out_norm", cfg.out_norm, {.input_dim = dims.model_dim})) {}

Tensor Sandwich::forward(const Tensor& x_BTD, const MixerContext& context) {
  Tensor y_BTD = in_norm_ ? constrain((*in_norm_)(x_BTD, context.segment_ids), kTokenAxes) : x_BTD;
  y_BTD = body_(y_BTD, context);
  if (body_norm_) y_BTD = (*body_norm_)(y_BTD, context.segment_ids);
  if (dropout_) y_BTD = (*dropout_)(y_BTD);
  const Tensor z_BTD = join_(x_BTD, y_BTD);
  return out_norm_ ? (*out_norm_)(z_BTD, context.segment_ids) : z_BTD;
}

AXLE_REGISTER(Sandwich)

}  // namespace axle
