#include "layers/state_space/linear_attention.h"

#include "config/register.h"
#include "layers/attention/head_sizes.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

namespace axle {
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

}  // namespace axle
