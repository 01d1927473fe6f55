// A model that is wider than the one whose hyperparameters were found, and the modifier for it.
#pragma once

#include "layers/blocks/stack.h"
#include "layers/models/causal_lm.h"
#include "layers/models/decoder.h"
#include "train/mup/mup.h"
#include "train/tiny_config_test.h"

namespace axle {

// A model of width 64, whose hyperparameters were found at width 16.
inline Trainer::Config wide() {
  Trainer::Config out = tiny_config();
  auto* decoder = out.model.get_if<CausalLM>()->decoder.get_if<Decoder>();
  decoder->model_dim = 64;
  decoder->lm_head = LmHead::Config{};
  decoder->layers.get_if<Stacked>()
      ->layer->get_if<TransformerLayer>()
      ->feed_forward.get_if<PreNorm>()
      ->body.get_if<FeedForward>()
      ->hidden_dim = FixedDim{96};
  return out;
}
inline MuP::Config mup() {
  return {.base = {{"model.decoder.model_dim", "16"},
                   {"model.decoder.layers.layer.feed_forward.body.hidden_dim", "32"}}};
}
inline Child<Modifier> mup_model_dim() {
  return MuP::Config{.base = {{"model.decoder.model_dim", "16"}}};
}
inline void apply(const Child<Modifier>& modifier, Trainer::Config& config) {
  modifier.build({}, Scope{})->apply(config);
}
inline Decoder::Config& decoder_of(Trainer::Config& config) {
  return *config.model.get_if<CausalLM>()->decoder.get_if<Decoder>();
}

}  // namespace axle
