// The mixers that bench/mixers.py compares, at sizes of a small model. mixers_jax.py of bench/peers
// computes the same.
#pragma once

#include <map>
#include <string>

#include "layers/attention/cores/scored_core.h"
#include "layers/attention/latent_attention.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/experts/dispatch.h"
#include "layers/experts/moe.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/recurrent/recurrent.h"
#include "layers/state_space/linear_attention.h"
#include "layers/state_space/mamba.h"

namespace axle {

/// The sizes of a call of a mixer: x[B, T, D].
constexpr int64_t kMixerBatch = 4, kMixerLength = 512, kMixerDim = 256;

inline std::map<std::string, Child<Mixer>> bench_mixers() {
  constexpr int64_t kHeads = 4;
  const Attention::Config attention{.num_heads = kHeads};
  std::map<std::string, Child<Mixer>> out;
  const auto add = [&](const std::string& name, auto config) { out.emplace(name, config); };
  add("attention", attention);

  Attention::Config rope = attention;
  rope.num_kv_heads = kHeads / 2;
  rope.qkv = RoPE::Config{.inner = FusedGroupedQKV::Config{}};
  add("grouped_rope_attention", rope);

  Attention::Config sliding = attention;
  sliding.mask = SlidingWindowMask::Config{.window = 128};
  add("sliding_window", sliding);

  Attention::Config sigmoid = attention;
  sigmoid.core = SigmoidAttention::Config{.bias_len = kMixerLength};
  add("sigmoid_attention", sigmoid);

  add("latent_attention", LatentAttention::Config{.num_heads = kHeads,
                                                  .query_rank = 96,
                                                  .kv_rank = 64,
                                                  .nope_dim = 32,
                                                  .rope_dim = 16,
                                                  .value_dim = 32,
                                                  .query_down = Linear::Config{.bias = false},
                                                  .query_norm = RMSNorm::Config{}});
  add("linear_attention", LinearAttention::Config{.num_heads = kHeads});
  add("rattention", RAttention::Config{.num_heads = kHeads, .window = 128});
  add("mamba1", Mamba1::Config{.state_dim = 16});
  add("mamba2", Mamba2::Config{.head_dim = 64, .state_dim = 64, .chunk_size = 128});
  add("recurrent", Recurrent::Config{});
  add("feed_forward", FeedForward::Config{.gate = Linear::Config{.bias = false},
                                          .up = Linear::Config{.bias = false},
                                          .down = Linear::Config{.bias = false}});
  const MoE::Config experts{.num_experts = 8,
                            .router = TopKRouter::Config{.top_k = 2},
                            .hidden_dim = ScaledDim{.scale = 2},
                            .gate = Linear::Config{.bias = false}};
  add("moe_sorted", experts);
  MoE::Config capacity = experts;
  capacity.dispatch = CapacityDispatch::Config{.num_groups = 4};
  add("moe_capacity", capacity);
  return out;
}

}  // namespace axle
