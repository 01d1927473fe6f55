#include "layers/state_space/mamba2.h"

#include <fmt/format.h>

#include "base/checked.h"
#include "config/register.h"
#include "layers/feed_forward/hidden_projections.h"
#include "ops/annotate.h"
#include "ops/elementwise/activations.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/reductions/softmax.h"

namespace axle {
Mamba2::Sizes Mamba2::sizes(const Config& cfg, const Dims& dims) const {
  Sizes out{.inner_dim = saturating_product(cfg.expand, dims.model_dim),
            .num_heads = 0,
            .num_groups = cfg.num_groups,
            .head_dim = cfg.head_dim,
            .state_dim = cfg.state_dim};
  if (out.inner_dim % out.head_dim != 0) {
    note("head_dim", fmt::format("must divide the inner dim, expand * model dim, got {} and {}",
                                 out.head_dim, out.inner_dim));
    out.head_dim = 1;
    out.num_groups = 1;
  }
  out.conv_dim = saturating_sum(
      out.inner_dim, saturating_product(2, saturating_product(out.num_groups, out.state_dim)));
  out.num_heads = out.inner_dim / out.head_dim;
  if (out.num_heads % out.num_groups != 0) {
    note("num_groups", fmt::format("must divide the number of heads, got {} and {}", out.num_groups,
                                   out.num_heads));
  }
  return out;
}

Mamba2::Mamba2(const Config& cfg, const Dims& dims, const Scope& scope)
    : RecurrentMixer(scope),
      sizes_(sizes(cfg, dims)),
      chunk_size_(cfg.chunk_size),
      decay_(param("decay", {.shape = {sizes_.num_heads},
                             .mesh_axes = {kShardAxes},
                             .init = cfg.decay_init,
                             .weight_decay_scale = 0})),
      skip_(param("skip", {.shape = {sizes_.num_heads},
                           .mesh_axes = {kShardAxes},
                           .init = Ones{},
                           .weight_decay_scale = 0})),
      step_bias_(param("step_bias", {.shape = {sizes_.num_heads},
                                     .mesh_axes = {kShardAxes},
                                     .init = cfg.step_bias_init,
                                     .weight_decay_scale = 0})),
      gate_(child("gate", cfg.gate, widening(dims.model_dim, sizes_.inner_dim))),
      input_(child("input", cfg.input, widening(dims.model_dim, sizes_.conv_dim))),
      step_(child("step", cfg.step, widening(dims.model_dim, sizes_.num_heads))),
      conv_(child("conv", cfg.conv, {.channels = sizes_.conv_dim})),
      norm_(child("norm", cfg.norm, {.input_dim = sizes_.inner_dim})),
      output_(child("output", cfg.output, narrowing(sizes_.inner_dim, dims.model_dim))) {}

RecurrentMixer::StateDims Mamba2::state_dims() const {
  return {.num_groups = sizes_.num_groups,
          .heads_per_group = sizes_.num_heads / sizes_.num_groups,
          .state_dim = sizes_.state_dim,
          .head_dim = sizes_.head_dim,
          .group_axes = kReplicated};  // there may be fewer groups than devices
}

Tensor Mamba2::forward(const Tensor& x_BTD, const MixerContext& context) {
  const Sizes& s = sizes_;
  const TokenStream tokens = TokenStream::of(x_BTD, context);
  const Tensor gate_BTF = name(gate_(x_BTD), "gate");
  const Tensor mixed = silu(conv_(name(input_(x_BTD), "input"), context));
  const int64_t shared = s.num_groups * s.state_dim;
  const Values parts = split(astype(mixed, DType::kF32), {s.inner_dim, shared, shared}, 2);
  const auto grouped = [&](const Tensor& t, int64_t last) {
    return unflatten(t, 2, last == 0 ? Shape{s.num_groups, -1} : Shape{s.num_groups, -1, last});
  };
  const Tensor raw_step = astype(step_(x_BTD), DType::kF32) + astype(step_bias_(), DType::kF32);
  const Tensor step_BTH = softplus(raw_step);
  const Tensor rate_H = -exp(astype(decay_(), DType::kF32));
  const Tensor x_BTGRP = grouped(parts[0], s.head_dim);
  const Tensor y_BTGRP = recur({.log_decay_BTGR = grouped(step_BTH * rate_H, 0),
                                .b_BTGN = unflatten(parts[1], 2, {s.num_groups, s.state_dim}),
                                .c_BTGN = unflatten(parts[2], 2, {s.num_groups, s.state_dim}),
                                .x_BTGRP = x_BTGRP * expand_dims(grouped(step_BTH, 0), -1)},
                               tokens, chunk_size_);
  const Tensor skip = unflatten(astype(skip_(), DType::kF32), 0, {s.num_groups, -1, 1});
  const Tensor y_BTF = flatten(y_BTGRP + skip * x_BTGRP, 2, 4);
  const Tensor gated_BTF = astype(y_BTF * silu(astype(gate_BTF, DType::kF32)), x_BTD.dtype());
  return output_(norm_(name(gated_BTF, "hidden")));
}

AXLE_REGISTER(Mamba2)

}  // namespace axle
