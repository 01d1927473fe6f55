#include "layers/state_space/mamba1.h"

#include "base/checked.h"
#include "config/register.h"
#include "layers/feed_forward/hidden_projections.h"
#include "layers/state_space/chunks.h"
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
#include "ops/reductions/softmax.h"
#include "transform/control_flow/associative_scan.h"
#include "transform/control_flow/scan.h"
#include "transform/remat/remat.h"

namespace axle {
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
  // than those of a chunk are ever in memory (section 3.3.2 of the paper).
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

}  // namespace axle
