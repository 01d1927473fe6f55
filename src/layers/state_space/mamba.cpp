#include "layers/state_space/mamba.h"

#include <fmt/format.h>

#include <cmath>

#include "base/lists.h"
#include "config/register.h"
#include "layers/feed_forward/feed_forward.h"
#include "layers/state_space/chunked_recurrence.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "ops/reductions/reductions.h"
#include "transform/control_flow/control_flow.h"
#include "transform/remat/remat.h"

namespace axle {

ShortConv::ShortConv(const Config& cfg, const Dims& dims, const Scope& scope)
    : LayerRole(scope),
      width_(cfg.width),
      // Each channel has `width` inputs and one output.
      weight_(param("weight", {.shape = {width_, dims.channels},
                               .mesh_axes = {kReplicated, kShardAxes},
                               .fan = {.in = {-2}, .out = {}, .batch = {-1}}})),
      lookback_(child("lookback", Child<Lookback>(Lookback::Config{}),
                      {.num_before = width_ - 1, .channels = dims.channels})) {
  if (cfg.bias)
    bias_ = param("bias", {.shape = {dims.channels}, .mesh_axes = {kShardAxes}, .init = Zeros{}});
}

Tensor ShortConv::forward(const Tensor& x_BTC, const MixerContext& context) {
  const int64_t length = x_BTC.dim(1);
  const LookedBack all = lookback_(x_BTC, context);
  const Tensor weight = weight_();
  Tensor y;
  for (int64_t k = 0; k < width_; ++k) {
    Tensor tap = slice_in_dim(all.x_BWTC, 1, k, k + length);
    if (const auto& segments = all.segments_BWT; segments && k < width_ - 1) {
      const Tensor is_same = equal(slice_in_dim(*segments, 1, k, k + length),
                                   slice_in_dim(*segments, 1, width_ - 1, width_ - 1 + length));
      tap = select(broadcast_to(expand_dims(is_same, -1), tap.shape()), tap, 0);
    }
    const Tensor term = tap * index_in_dim(weight, 0, k);
    y = y ? y + term : term;
  }
  return bias_ ? y + (*bias_)() : y;
}

AXLE_REGISTER(ShortConv::Dims)
AXLE_REGISTER(ShortConv)

Initialiser LogOfUniform::operator()(const InitSpec& spec) const {
  return {fmt::format("log(uniform({}, {}))", double{low}, double{high}),
          [spec, *this](const random::Key& key) {
            return astype(log(random::uniform(key, spec.shape, DType::kF32, low, high)),
                          spec.dtype);
          }};
}

Initialiser InverseSoftplusOfLogUniform::operator()(const InitSpec& spec) const {
  return {fmt::format("inverse_softplus(log_uniform({}, {}))", double{low}, double{high}),
          [spec, *this](const random::Key& key) {
            const Tensor value =
                exp(random::uniform(key, spec.shape, DType::kF32, std::log(low), std::log(high)));
            return astype(value + log(-expm1(-value)), spec.dtype);
          }};
}

AXLE_REGISTER(LogOfUniform)
AXLE_REGISTER(InverseSoftplusOfLogUniform)

namespace {

// h_t = earlier decay, then input: the composition of two affine maps of the state.
Values compose(const Values& earlier, const Values& later) {
  return {earlier[0] * later[0], later[0] * earlier[1] + later[1]};
}

// Returns pred[B, T]: true where a token begins a segment.
Tensor begins(const Tensor& segments_BT, const Tensor& before_B1) {
  return not_equal(
      segments_BT,
      concatenate({before_B1, slice_in_dim(segments_BT, 1, 0, segments_BT.dim(1) - 1)}, 1));
}

}  // namespace

Initialiser LogOfCount::operator()(const InitSpec& spec) const {
  return {"log(1..N)", [spec](const random::Key&) {
            const Tensor count = astype(iota(spec.shape, -1), DType::kF32) + 1;
            return astype(log(count), spec.dtype);
          }};
}

Mamba1::Mamba1(const Config& cfg, const Dims& dims, const Scope& scope)
    : Mixer(scope),
      inner_dim_(saturating_product(cfg.expand, dims.model_dim)),
      state_dim_(cfg.state_dim),
      chunk_size_(cfg.chunk_size),
      step_rank_(cfg.step_rank.value_or((dims.model_dim + 15) / 16)),
      decay_(param("decay", {.shape = {inner_dim_, state_dim_},
                             .mesh_axes = {kShardAxes},
                             .init = cfg.decay_init,
                             .weight_decay_scale = 0})),
      skip_(param("skip", {.shape = {inner_dim_},
                           .mesh_axes = {kShardAxes},
                           .init = Ones{},
                           .weight_decay_scale = 0})),
      step_bias_(param("step_bias", {.shape = {inner_dim_},
                                     .mesh_axes = {kShardAxes},
                                     .init = cfg.step_bias_init,
                                     .weight_decay_scale = 0})),
      gate_(child("gate", cfg.gate, widening(dims.model_dim, inner_dim_))),
      input_(child("input", cfg.input, widening(dims.model_dim, inner_dim_))),
      conv_(child("conv", cfg.conv, {.channels = inner_dim_})),
      select_(child("select", cfg.select,
                    {.input_dim = inner_dim_,
                     .output_dim = saturating_sum(step_rank_, saturating_product(2, state_dim_)),
                     .input_axes = kShardAxes})),
      step_(child("step", cfg.step,
                  {.input_dim = step_rank_, .output_dim = inner_dim_, .output_axes = kShardAxes})),
      output_(child("output", cfg.output, narrowing(inner_dim_, dims.model_dim))) {}

Tree<StateSpec> Mamba1::decode_state_specs(const DecodeDims& dims) const {
  Tree<StateSpec> out = Layer::decode_state_specs(dims);
  out.merge(recurrence_state_specs(path(), dims.batch_size, {inner_dim_, state_dim_}, kShardAxes));
  return out;
}

Tensor Mamba1::recur(const Tensor& step_BTF, const Tensor& x_BTF, const Tensor& b_BTN,
                     const Tensor& c_BTN, const TokenStream& tokens) {
  const int64_t length = x_BTF.dim(1), size = std::min(chunk_size_, length);
  const Tensor rate_FN = -exp(astype(decay_(), DType::kF32));
  // {state, step, x, b, c, begins} -> {the next state, y}
  const auto chunk = [&](const Values& v) {
    Tensor decay_BQFN = exp(expand_dims(v[1], -1) * rate_FN);
    if (tokens.segments_BT) {
      const Tensor begins = expand_dims(expand_dims(v[5], -1), -1);
      decay_BQFN = select(broadcast_to(begins, decay_BQFN.shape()), 0, decay_BQFN);
    }
    const Tensor input_BQFN = expand_dims(v[1] * v[2], -1) * expand_dims(v[3], 2);
    const Values scanned = associative_scan(compose, {decay_BQFN, input_BQFN}, 1);
    const Tensor h_BQFN = scanned[1] + scanned[0] * expand_dims(v[0], 1);
    return Values{index_in_dim(h_BQFN, 1, -1), reduce_sum(h_BQFN * expand_dims(v[4], 2), {-1})};
  };
  // The states of a whole row have N times as many elements as its activations, so that no more
  // than a chunk's states are ever in memory (section 3.3.2 of the paper).
  const auto next_chunk = [&](const Values& carry, const Values& xs) {
    Values all = carry;
    all.insert(all.end(), xs.begin(), xs.end());
    const Values out = remat(chunk, all, save_nothing(), /*prevent_cse=*/false);
    return ScanResult{.carry = {out[0]}, .ys = {out[1]}};
  };
  Values inputs = {step_BTF, x_BTF, b_BTN, c_BTN};
  if (tokens.segments_BT) {
    const Tensor& segments = *tokens.segments_BT;
    inputs.push_back(begins(segments, decoding() ? expand_dims(state("segment"), -1)
                                                 : slice_in_dim(segments, 1, 0, 1)));
  }
  // Positions after the end have the step 0, like padding.
  for (Tensor& x : inputs) x = move_axis(in_chunks(x, size), 1, 0);
  const Tensor start = decoding() ? state("state") : zeros({x_BTF.dim(0), inner_dim_, state_dim_});
  const int64_t num_chunks = inputs[0].dim(0);
  const ScanResult chunks = scan(next_chunk, {start}, inputs, num_chunks, {.names = {"state"}});
  if (decoding()) {
    set_state("state", chunks.carry[0]);
    set_state("segment",
              tokens.segments_BT ? index_in_dim(*tokens.segments_BT, 1, -1) : state("segment"));
  }
  return slice_in_dim(flatten(move_axis(chunks.ys[0], 0, 1), 1, 2), 1, 0, length);
}

Tensor Mamba1::forward(const Tensor& x_BTD, const MixerContext& context) {
  const TokenStream tokens = TokenStream::of(x_BTD, context);
  const Tensor gate_BTF = name(gate_(x_BTD), "gate");
  const Tensor x_BTF = silu(conv_(name(input_(x_BTD), "input"), context));
  const Values selected = split(select_(x_BTF), {step_rank_, state_dim_, state_dim_}, 2);
  const Tensor b_BTN = astype(selected[1], DType::kF32), c_BTN = astype(selected[2], DType::kF32);
  const Tensor raw_step =
      astype(step_(selected[0]), DType::kF32) + astype(step_bias_(), DType::kF32);
  // Padding has the step 0, which leaves the state as it is.
  const Tensor step_BTF = tokens.without_padding(softplus(raw_step));
  const Tensor wide_BTF = astype(x_BTF, DType::kF32);
  const Tensor y_BTF =
      recur(step_BTF, wide_BTF, b_BTN, c_BTN, tokens) + astype(skip_(), DType::kF32) * wide_BTF;
  const Tensor gated_BTF = astype(y_BTF * silu(astype(gate_BTF, DType::kF32)), x_BTD.dtype());
  return output_(name(gated_BTF, "hidden"));
}

AXLE_REGISTER(LogOfCount)
AXLE_REGISTER(Mamba1)

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
