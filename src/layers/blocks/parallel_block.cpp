#include "layers/blocks/parallel_block.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"

namespace axle {

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

}  // namespace axle
