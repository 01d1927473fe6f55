// A training run that takes moments: two layers of width 16 over synthetic tokens.
#pragma once

#include "data/synthetic_input.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/stack.h"
#include "layers/models/causal_lm.h"
#include "learn/transforms/gradient_transforms.h"
#include "train/config/trainer_config.h"

namespace axle {

inline TransformerLayer::Config tiny_layer(double dropout = 0) {
  PreNorm::Config attention{
      .body = Attention::Config{.num_heads = 4, .num_kv_heads = 4, .qkv = RoPE::Config{}}};
  PreNorm::Config feed_forward{.body = FeedForward::Config{.hidden_dim = FixedDim{32},
                                                           .gate = Linear::Config{.bias = false}}};
  if (dropout > 0) {
    attention.dropout = Dropout::Config{.rate = dropout};
    feed_forward.dropout = Dropout::Config{.rate = dropout};
  }
  return {.attention = attention, .feed_forward = feed_forward};
}

inline Child<Block> tiny_stack(double dropout = 0) {
  return Stacked::Config{.num_layers = 2, .layer = tiny_layer(dropout)};
}
inline Child<Block> tiny_loop(double dropout = 0) {
  return Repeat::Config{.num_layers = 2, .layer = tiny_layer(dropout)};
}

inline Child<Model> tiny_model(Child<Block> layers) {
  return CausalLM::Config{
      .decoder = Decoder::Config{.model_dim = 16, .vocab_size = 32, .layers = std::move(layers)}};
}

inline Child<Learner> tiny_learner() {
  return Learner::Config{.optimizer = AdamW::Config{.learning_rate = ConstantRate{.value = 1e-2},
                                                    .weight_decay = 1e-2},
                         .transforms = {ClipByGlobalNorm::Config{}}};
}

/// A run of thirty steps with dropout, with a checkpoint every four steps and an evaluation every
/// ten.
inline Trainer::Config tiny_config() {
  return {
      .model = tiny_model(tiny_stack(0.1)),
      .input = SyntheticInput::Config{.seq_len = 16, .batch_size = 8},
      .learner = tiny_learner(),
      .checkpointer = {.every_steps = 4},
      .evalers = {{"held_out",
                   {.input =
                        SyntheticInput::Config{.seq_len = 16, .batch_size = 8, .num_batches = 2},
                    .every_steps = 10}}},
      .max_steps = 30,
      .seed = 3,
      .log_every_steps = 1};
}

}  // namespace axle
