#include "layers/blocks/post_norm.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"

namespace axle {

PostNorm::PostNorm(const Config& cfg, const Dims& dims, const Scope& scope)
    : Block(scope),
      norm_(child("norm", cfg.norm, {.input_dim = dims.model_dim})),
      body_(child("body", cfg.body, dims)),
      dropout_(child("dropout", cfg.dropout, {})) {}

Tensor PostNorm::forward(const Tensor& x_BTD, const MixerContext& context) {
  const Tensor y_BTD = body_(constrain(x_BTD, kTokenAxes), context);
  return norm_(x_BTD + (dropout_ ? (*dropout_)(y_BTD) : y_BTD));
}

AXLE_REGISTER(PostNorm)

}  // namespace axle
