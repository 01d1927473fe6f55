#include "layers/state_space/mamba1.h"

#include "base/checked.h"
#include "config/register.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/activations.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/exponential.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/reductions/reduce.h"
#include "transform/control_flow/associative_scan.h"

namespace axle {
namespace {

// h_t = earlier decay, then input: the composition of two affine maps of the state.
Values compose(const Values& earlier, const Values& later) {
  return {earlier[0] * later[0], later[0] * earlier[1] + later[1]};
}

// Returns pred[B, T, 1, 1]: true where a token continues the segment of the token before it.
Tensor continues(const Tensor& segments_BT, const Tensor& before_B1) {
  const Tensor previous =
      concatenate({before_B1, slice_in_dim(segments_BT, 1, 0, segments_BT.dim(1) - 1)}, 1);
  return expand_dims(expand_dims(equal(segments_BT, previous), -1), -1);
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
      step_rank_(cfg.step_rank.value_or((dims.model_dim + 15) / 16)),
      decay_(param(
          "decay",
          {.shape = {inner_dim_, state_dim_}, .mesh_axes = {kShardAxes}, .init = cfg.decay_init})),
      skip_(param("skip", {.shape = {inner_dim_}, .mesh_axes = {kShardAxes}, .init = Ones{}})),
      step_bias_(
          param("step_bias",
                {.shape = {inner_dim_}, .mesh_axes = {kShardAxes}, .init = cfg.step_bias_init})),
      gate_(child("gate", cfg.gate,
                  {.input_dim = dims.model_dim,
                   .output_dim = inner_dim_,
                   .input_axes = kModelDimAxes,
                   .output_axes = kShardAxes})),
      input_(child("input", cfg.input,
                   {.input_dim = dims.model_dim,
                    .output_dim = inner_dim_,
                    .input_axes = kModelDimAxes,
                    .output_axes = kShardAxes})),
      conv_(child("conv", cfg.conv, {.channels = inner_dim_})),
      select_(child("select", cfg.select,
                    {.input_dim = inner_dim_,
                     .output_dim = saturating_sum(step_rank_, saturating_product(2, state_dim_)),
                     .input_axes = kShardAxes})),
      step_(child("step", cfg.step,
                  {.input_dim = step_rank_, .output_dim = inner_dim_, .output_axes = kShardAxes})),
      output_(child("output", cfg.output,
                    {.input_dim = inner_dim_,
                     .output_dim = dims.model_dim,
                     .input_axes = kShardAxes,
                     .output_axes = kModelDimAxes})) {}

Tree<StateSpec> Mamba1::decode_state_specs(const DecodeDims& dims) const {
  Tree<StateSpec> out = Layer::decode_state_specs(dims);
  out.emplace(join_path(path(), "state"),
              StateSpec{.type = {DType::kF32, {dims.batch_size, inner_dim_, state_dim_}},
                        .mesh_axes = {{kBatchAxes, kShardAxes}}});
  out.emplace(join_path(path(), "segment"),
              StateSpec{.type = {DType::kI32, {dims.batch_size}}, .mesh_axes = {{kBatchAxes}}});
  return out;
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
  const Tensor step_BTF = tokens.without_padding(-log_sigmoid(-raw_step));
  const Tensor rate_FN = -exp(astype(decay_(), DType::kF32));
  Tensor decay_BTFN = exp(expand_dims(step_BTF, -1) * rate_FN);
  const Tensor wide_BTF = astype(x_BTF, DType::kF32);
  Tensor input_BTFN = expand_dims(step_BTF * wide_BTF, -1) * expand_dims(b_BTN, 2);
  if (tokens.segments_BT) {
    const Tensor& segments = *tokens.segments_BT;
    const Tensor before_B1 =
        decoding() ? expand_dims(state("segment"), -1) : slice_in_dim(segments, 1, 0, 1);
    decay_BTFN =
        select(broadcast_to(continues(segments, before_B1), decay_BTFN.shape()), decay_BTFN, 0);
  }
  const Values scanned = associative_scan(compose, {decay_BTFN, input_BTFN}, 1);
  Tensor h_BTFN = scanned[1];
  if (decoding()) {
    h_BTFN = h_BTFN + scanned[0] * expand_dims(state("state"), 1);
    set_state("state", index_in_dim(h_BTFN, 1, -1));
    set_state("segment",
              tokens.segments_BT ? index_in_dim(*tokens.segments_BT, 1, -1) : state("segment"));
  }
  const Tensor y_BTF =
      reduce_sum(h_BTFN * expand_dims(c_BTN, 2), {-1}) + astype(skip_(), DType::kF32) * wide_BTF;
  const Tensor gated_BTF = astype(y_BTF * silu(astype(gate_BTF, DType::kF32)), x_BTD.dtype());
  return output_(name(gated_BTF, "hidden"));
}

AXLE_REGISTER(LogOfCount)
AXLE_REGISTER(Mamba1)

}  // namespace axle
