#include "layers/blocks/transformer_layer.h"

#include "config/register.h"

namespace axle {

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
