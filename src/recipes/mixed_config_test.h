// A trainer's config for tests of modifiers. Classes are in lists, maps, optional slots and wraps.
#pragma once

#include "layers/attention/caches/dense_kv_caches.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/attention/qkv/rope.h"
#include "layers/blocks/norm_placements.h"
#include "layers/blocks/stack.h"
#include "layers/experts/moe.h"
#include "layers/norms/norm.h"
#include "train/tiny_config_test.h"

namespace axle {

/// Four layers, alternating, of width 16:
///   [0] norms before, RoPE around fused projections, dense, 4 heads;
///   [1] norms after, a window of 8 positions, a mixture of 4 experts with a shared one, 4 heads;
///   [2] norms on both sides, shares its keys, 2 heads, LayerNorm;
///   [3] no feed-forward part, borrows the keys of [2].
/// Two transforms of gradients, two evaluations.
inline Trainer::Config mixed_config() {
  const FeedForward::Config dense{.hidden_dim = FixedDim{.dim = 32},
                                  .gate = Linear::Config{.bias = false}};
  const auto attention = [](int64_t heads, Child<QKV> qkv) {
    return Attention::Config{.num_heads = heads, .qkv = std::move(qkv)};
  };
  Attention::Config windowed = attention(4, SeparateQKV::Config{});
  windowed.mask = SlidingWindowMask::Config{.window = 8};
  Attention::Config sharing = attention(2, FusedQKV::Config{});
  sharing.kv_cache = SharedKVCache::Config{};
  Attention::Config borrowing = attention(2, QueryOnly::Config{});
  borrowing.kv_cache = BorrowedKVCache::Config{};
  const MoE::Config experts{
      .num_experts = 4, .hidden_dim = FixedDim{.dim = 32}, .shared = Child<Mixer>(dense)};

  Trainer::Config out = tiny_config();
  out.model = tiny_model(Pattern::Config{
      .num_layers = 4,
      .pattern = {TransformerLayer::Config{
                      .attention = PreNorm::Config{.body = attention(4, RoPE::Config{})},
                      .feed_forward = PreNorm::Config{.body = dense}},
                  TransformerLayer::Config{.attention = PostNorm::Config{.body = windowed},
                                           .feed_forward = PostNorm::Config{.body = experts}},
                  TransformerLayer::Config{
                      .attention = Sandwich::Config{.in_norm = Child<Norm>(LayerNorm::Config{}),
                                                    .body = sharing},
                      .feed_forward = PreNorm::Config{.body = dense}},
                  PreNorm::Config{.body = borrowing}}});
  out.learner.get_if<Learner>()->transforms = {ClipByGlobalNorm::Config{.max_norm = 1},
                                               ClipByGlobalNorm::Config{.max_norm = 2}};
  out.evalers["late"] = {
      .input = SyntheticInput::Config{.seq_len = 16, .batch_size = 8, .num_batches = 1}};
  return out;
}

}  // namespace axle
