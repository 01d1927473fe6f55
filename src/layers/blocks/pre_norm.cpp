#include "layers/blocks/pre_norm.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"

namespace axle {

PreNorm::PreNorm(const Config& cfg, const Dims& dims, const Scope& scope)
    : Block(scope),
      norm_(child("norm", cfg.norm, {.input_dim = dims.model_dim})),
      body_(child("body", cfg.body, dims)),
      dropout_(child("dropout", cfg.dropout, {})) {}

Tensor PreNorm::forward(const Tensor& x_BTD, const MixerContext& context) {
  // The norm may run on a sequence that is sharded over more axes than the body allows
  // (SequenceParallel).
  const Tensor normed_BTD = constrain(norm_(x_BTD), kTokenAxes);
  const Tensor y_BTD = body_(normed_BTD, context);
  return x_BTD + (dropout_ ? (*dropout_)(y_BTD) : y_BTD);
}

AXLE_REGISTER(PreNorm)

}  // namespace axle
