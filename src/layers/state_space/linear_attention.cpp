#include "layers/state_space/linear_attention.h"

#include "config/register.h"
#include "layers/attention/caches/bounded_kv_caches.h"
#include "layers/attention/qkv/key_values.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"

namespace axle {

// Each branch sees only arguments of its own side, so that no gradient is infinite.
Tensor elu_plus_one(const Tensor& x) { return select(x > 0, x + 1, exp(minimum(x, 0))); }
Tensor softmax_features(const Tensor& x) { return softmax(x, -1); }

AXLE_REGISTER(elu_plus_one, "elu_plus_one")
AXLE_REGISTER(softmax_features, "softmax_features")

namespace {

// Keeps the division finite where all features are 0.
constexpr double kLeastSum = 1e-6;

}  // namespace

LinearAttention::LinearAttention(const Config& cfg, const Dims& dims, const Scope& scope)
    : RecurrentMixer(scope),
      num_heads_(cfg.num_heads),
      head_dim_(head_sizes(dims.model_dim, num_heads_, {}, cfg.head_dim,
                           [this](auto field, auto what) { note(field, what); })
                    .head_dim),
      chunk_size_(cfg.chunk_size),
      features_(cfg.features),
      normalise_(cfg.normalise),
      qkv_(child("qkv", cfg.qkv,
                 {.model_dim = dims.model_dim,
                  .num_heads = num_heads_,
                  .num_kv_heads = num_heads_,
                  .head_dim = head_dim_})),
      head_norm_(child("head_norm", cfg.head_norm, {.input_dim = head_dim_})),
      output_(
          child("output", cfg.output,
                {.model_dim = dims.model_dim, .num_heads = num_heads_, .head_dim = head_dim_})) {}

RecurrentMixer::StateDims LinearAttention::state_dims() const {
  return {.num_groups = num_heads_,
          .heads_per_group = 1,
          .state_dim = head_dim_,
          .head_dim = head_dim_ + (normalise_ ? 1 : 0)};
}

Tensor LinearAttention::forward(const Tensor& x_BTD, const MixerContext& context) {
  const TokenStream tokens = TokenStream::of(x_BTD, context);
  const QKVTensors heads = qkv_(x_BTD, context.positions);
  const auto wide = [](const Tensor& x) { return astype(x, DType::kF32); };
  Tensor v_BTNH = wide(heads.v_BSKH);
  if (normalise_) v_BTNH = pad_in_dim(v_BTNH, 3, 0, 1, 1);  // a value of 1 sums the weights
  const Tensor no_decay = zeros({x_BTD.dim(0), x_BTD.dim(1), num_heads_, 1});
  const Tensor y_BTGRP = recur({.log_decay_BTGR = no_decay,
                                .b_BTGN = features_(wide(heads.k_BSKH)),
                                .c_BTGN = features_(wide(heads.q_BTNH)),
                                .x_BTGRP = expand_dims(v_BTNH, 3)},
                               tokens, chunk_size_);
  Tensor y_BTNH = squeeze(y_BTGRP, {3});
  if (normalise_) {
    const Values parts = split(y_BTNH, {head_dim_, 1}, 3);
    y_BTNH = parts[0] / maximum(parts[1], kLeastSum);
  }
  y_BTNH = astype(y_BTNH, x_BTD.dtype());
  if (head_norm_) y_BTNH = (*head_norm_)(y_BTNH);
  return output_(name(constrain(y_BTNH, kTokenPartsAxes), "attention_context"));
}

AXLE_REGISTER(LinearAttention)

RAttention::RAttention(const Config& cfg, const Dims& dims, const Scope& scope)
    : RecurrentMixer(scope),
      sizes_(head_sizes(dims.model_dim, cfg.num_heads, cfg.num_kv_heads, cfg.head_dim,
                        [this](auto field, auto what) { note(field, what); })),
      window_(cfg.window),
      chunk_size_(cfg.chunk_size),
      features_(cfg.features),
      mask_({.window = window_}, {}, scope),
      qkv_(child("qkv", cfg.qkv,
                 {.model_dim = dims.model_dim,
                  .num_heads = sizes_.num_heads,
                  .num_kv_heads = sizes_.num_kv_heads,
                  .head_dim = sizes_.head_dim})),
      core_(child("core", cfg.core, {.num_heads = sizes_.num_heads, .head_dim = sizes_.head_dim})),
      kv_cache_(child("kv_cache", Child<KVCache>(SlidingKVCache::Config{.window = window_}),
                      {.num_kv_heads = sizes_.num_kv_heads, .head_dim = sizes_.head_dim})),
      left_keys_(
          child("left_keys", Child<Lookback>(Lookback::Config{}),
                {.num_before = window_ + 1, .channels = sizes_.num_kv_heads * sizes_.head_dim})),
      left_values_(
          child("left_values", Child<Lookback>(Lookback::Config{}),
                {.num_before = window_ + 1, .channels = sizes_.num_kv_heads * sizes_.head_dim})),
      local_norm_(child("local_norm", cfg.local_norm, {.input_dim = sizes_.head_dim})),
      memory_norm_(child("memory_norm", cfg.memory_norm, {.input_dim = sizes_.head_dim})),
      output_(child("output", cfg.output,
                    {.model_dim = dims.model_dim,
                     .num_heads = sizes_.num_heads,
                     .head_dim = sizes_.head_dim})) {}

RecurrentMixer::StateDims RAttention::state_dims() const {
  return {.num_groups = sizes_.num_heads,
          .heads_per_group = 1,
          .state_dim = sizes_.head_dim,
          .head_dim = sizes_.head_dim};
}

Tensor RAttention::forward(const Tensor& x_BTD, const MixerContext& context) {
  const MixerContext placed = decoding() ? with_positions(x_BTD, context) : context;
  const QKVTensors heads = qkv_(x_BTD, placed.positions);
  const Tensor local_BTNH = local_norm_(local(heads, placed, decoding() && context.positions));
  const Tensor memory_BTNH = memory_norm_(memory(heads, placed));
  const Tensor y_BTNH = constrain(local_BTNH + memory_BTNH, kTokenPartsAxes);
  return name(output_(name(y_BTNH, "attention_context")), "attention_output");
}

Tensor RAttention::local(const QKVTensors& heads, const MixerContext& context, bool goes_on) {
  const KeyValues fresh{.k_BSKH = heads.k_BSKH, .v_BSKH = heads.v_BSKH};
  const KeyValues keys = append_and_look(kv_cache_, fresh, context, goes_on, &mask_);
  Visibility visibility = Visibility::of(heads.q_BTNH.dim(1), keys, context, goes_on);
  visibility.mask = &mask_;
  visibility.has_empty_places = decoding();
  return core_(heads.q_BTNH, keys, visibility);
}

// The recurrence takes token t - W - 1 in when token t looks at it.
Tensor RAttention::memory(const QKVTensors& heads, const MixerContext& context) {
  const Tensor& q_BTNH = heads.q_BTNH;
  const int64_t length = q_BTNH.dim(1), copies = sizes_.num_heads / sizes_.num_kv_heads;
  const TokenStream tokens = TokenStream::of(q_BTNH, context);
  const auto split_heads = [&](const Tensor& x_BTC) {
    const Tensor left = slice_in_dim(x_BTC, 1, 0, length);
    return repeat(astype(unflatten(left, 2, {sizes_.num_kv_heads, -1}), DType::kF32), copies, 2);
  };
  const LookedBack keys = left_keys_(flatten(heads.k_BSKH, 2, 3), context);
  const LookedBack values = left_values_(flatten(heads.v_BSKH, 2, 3), context);
  const Tensor k_BTNH = features_(split_heads(keys.x_BWTC));
  Tensor v_BTNH = split_heads(values.x_BWTC);
  if (keys.segments_BWT) {
    const Tensor is_same =
        equal(slice_in_dim(*keys.segments_BWT, 1, 0, length), *tokens.segments_BT);
    v_BTNH =
        select(broadcast_to(expand_dims(expand_dims(is_same, -1), -1), v_BTNH.shape()), v_BTNH, 0);
  }
  const Tensor y_BTGRP =
      recur({.log_decay_BTGR = zeros({q_BTNH.dim(0), length, sizes_.num_heads, 1}),
             .b_BTGN = k_BTNH,
             .c_BTGN = features_(astype(q_BTNH, DType::kF32)),
             .x_BTGRP = expand_dims(v_BTNH, 3)},
            tokens, chunk_size_);
  return astype(squeeze(y_BTGRP, {3}), q_BTNH.dtype());
}

AXLE_REGISTER(RAttention)

}  // namespace axle
