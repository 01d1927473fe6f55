#include "layers/state_space/chunked_recurrence.h"

#include <algorithm>

#include "config/register.h"
#include "layers/attention/caches/dense_kv_caches.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "transform/control_flow/control_flow.h"

namespace axle {

TokenStream TokenStream::of(const Tensor& x, const MixerContext& context) {
  TokenStream out{.segments_BT = context.segment_ids, .last_B = context.last_index};
  if (!context.last_index) return out;
  const Tensor index_1T = iota({1, x.dim(1)}, 1), last_B1 = expand_dims(*context.last_index, -1);
  out.live_BT = index_1T <= last_B1;
  if (out.segments_BT)
    out.segments_BT = take_along_axis(*out.segments_BT, minimum(index_1T, last_B1), 1);
  return out;
}

Tensor TokenStream::without_padding(const Tensor& x) const {
  if (!live_BT) return x;
  Tensor live = *live_BT;
  while (live.rank() < x.rank()) live = expand_dims(live, -1);
  return select(broadcast_to(live, x.shape()), x, 0);
}

Tree<StateSpec> recurrence_state_specs(std::string_view path, int64_t batch_size, Shape dims,
                                       const DimAxes& axes) {
  dims.insert(dims.begin(), batch_size);
  return {{join_path(path, "state"),
           {.type = {DType::kF32, std::move(dims)}, .mesh_axes = {{kBatchAxes, axes}}}},
          {join_path(path, "segment"),
           {.type = {DType::kI32, {batch_size}}, .mesh_axes = {{kBatchAxes}}}}};
}

Tree<StateSpec> Lookback::decode_state_specs(const DecodeDims& dims) const {
  if (dims_.num_before == 0) return {};
  return {{join_path(path(), "last"),
           {.type = {dims.dtype, {dims.batch_size, dims_.num_before, dims_.channels}},
            .mesh_axes = {{kBatchAxes, kReplicated, kShardAxes}}}},
          {join_path(path(), "segment"), cached_token_spec(dims.batch_size, dims_.num_before)}};
}

LookedBack Lookback::forward(const Tensor& x_BTC, const MixerContext& context) {
  const TokenStream tokens = TokenStream::of(x_BTC, context);
  const int64_t num_before = dims_.num_before;
  LookedBack out{.x_BWTC = x_BTC, .segments_BWT = tokens.segments_BT};
  if (num_before == 0) return out;
  if (!decoding()) {
    out.x_BWTC = pad_in_dim(x_BTC, 1, num_before, 0);
    if (out.segments_BWT) out.segments_BWT = pad_in_dim(*out.segments_BWT, 1, num_before, 0);
    return out;
  }
  const Tensor last = state("last");
  out.x_BWTC = concatenate({astype(last, x_BTC.dtype()), x_BTC}, 1);
  if (out.segments_BWT) out.segments_BWT = concatenate({state("segment"), *out.segments_BWT}, 1);
  // The last W tokens that count are those before the next call.
  const Tensor last_B1 = tokens.last_B ? expand_dims(*tokens.last_B, -1)
                                       : full({x_BTC.dim(0), 1}, x_BTC.dim(1) - 1, DType::kI32);
  const Tensor index_BW = last_B1 + 1 + iota({1, num_before}, 1);
  set_state("last", astype(batched_take(out.x_BWTC, index_BW), last.dtype()));
  set_state("segment",
            out.segments_BWT ? take_along_axis(*out.segments_BWT, index_BW, 1) : state("segment"));
  return out;
}

AXLE_REGISTER(Lookback::Dims)
AXLE_REGISTER(Lookback)

Tensor in_chunks(const Tensor& x, int64_t chunk_size) {
  const int64_t missing = (chunk_size - x.dim(1) % chunk_size) % chunk_size;
  return unflatten(missing > 0 ? pad_in_dim(x, 1, 0, missing) : x, 1, {-1, chunk_size});
}

namespace {

// exp of this is 0; -inf would give NaN gradients.
constexpr double kNever = -1e30;

// Letters: C chunks, Q or S positions inside a chunk.
// Like in_chunks, with the last segment of each row after the end.
Tensor segments_in_chunks(const Tensor& segments_BT, int64_t chunk_size) {
  const int64_t missing = (chunk_size - segments_BT.dim(1) % chunk_size) % chunk_size;
  if (missing == 0) return unflatten(segments_BT, 1, {-1, chunk_size});
  const Tensor last_B1 = slice_in_dim(segments_BT, 1, segments_BT.dim(1) - 1, segments_BT.dim(1));
  return unflatten(concatenate({segments_BT, broadcast_to(last_B1, {last_B1.dim(0), missing})}, 1),
                   1, {-1, chunk_size});
}

// exp(log_decay) where `is_open`, else 0. `is_open` lacks the last two dims of log_decay, G and R.
Tensor decay(const Tensor& log_decay, const std::optional<Tensor>& is_open) {
  if (!is_open) return exp(log_decay);
  const Tensor open = expand_dims(expand_dims(*is_open, -1), -1);
  return exp(select(broadcast_to(open, log_decay.shape()), log_decay, kNever));
}

// Which tokens of a chunk see which others: those of their own segment.
struct Segments {
  Tensor own_BCQ, last_BC, before_BC;  // of a token, of the chunk's last token, of the state before

  Segments(const Tensor& segments_BT, int64_t chunk_size, const std::optional<Tensor>& before_B) {
    own_BCQ = segments_in_chunks(segments_BT, chunk_size);
    last_BC = index_in_dim(own_BCQ, 2, -1);
    const Tensor first_B1 =
        before_B ? expand_dims(*before_B, -1) : slice_in_dim(segments_BT, 1, 0, 1);
    before_BC = last_BC.dim(1) == 1
                    ? first_B1
                    : concatenate({first_B1, slice_in_dim(last_BC, 1, 0, last_BC.dim(1) - 1)}, 1);
  }
};

}  // namespace

RecurrenceResult chunked_recurrence(const Recurrence& recurrence, const TokenStream& tokens,
                                    int64_t chunk_size,
                                    const std::optional<RecurrenceState>& before) {
  const int64_t length = recurrence.x_BTGRP.dim(1), size = std::min(chunk_size, length);
  std::optional<Segments> segments;
  if (tokens.segments_BT)
    segments.emplace(*tokens.segments_BT, size, before ? before->segment_B : std::nullopt);
  const auto open = [&](auto&& same) {
    return segments ? std::optional<Tensor>(same(*segments)) : std::nullopt;
  };
  const Tensor x = in_chunks(tokens.without_padding(recurrence.x_BTGRP), size),
               b = in_chunks(recurrence.b_BTGN, size), c = in_chunks(recurrence.c_BTGN, size);
  const Tensor total =
      cumsum(in_chunks(tokens.without_padding(recurrence.log_decay_BTGR), size), 2);

  // Inside a chunk: token q sees token s <= q, decayed by all steps between.
  const Tensor between = expand_dims(total, 3) - expand_dims(total, 2);  // [B, C, Q, S, G, R]
  Tensor sees = iota({size, 1}, 0) >= iota({1, size}, 1);
  if (segments) {
    sees = sees & equal(expand_dims(segments->own_BCQ, 3), expand_dims(segments->own_BCQ, 2));
  } else {
    sees = broadcast_to(sees, {between.dim(0), between.dim(1), size, size});
  }
  const Tensor weights = decay(between, sees) * expand_dims(einsum("bcqgn,bcsgn->bcqsg", c, b), -1);
  Tensor y = einsum("bcqsgr,bcsgrp->bcqgrp", weights, x);

  // The state that a chunk adds, at the end of the chunk.
  const Tensor last = slice_in_dim(total, 2, size - 1, size);  // [B, C, 1, G, R]
  const Tensor to_end =
      decay(last - total,
            open([](const Segments& s) { return equal(s.own_BCQ, expand_dims(s.last_BC, -1)); }));
  const Tensor added = einsum("bcsgn,bcsgrp->bcgrnp", b, x * expand_dims(to_end, -1));

  // From chunk to chunk.
  const Tensor through =
      decay(squeeze(last, {2}),
            open([](const Segments& s) { return equal(s.last_BC, s.before_BC); }));  // [B, C, G, R]
  const Shape& dims = added.shape();
  const Tensor start = before ? before->h_BGRNP
                              : zeros({dims[0], dims[2], dims[3], dims[4], dims[5]}, added.dtype());
  const ScanResult chunks = scan(
      [](const Values& carry, const Values& xs) {
        const Tensor decayed = carry[0] * expand_dims(expand_dims(xs[1], -1), -1);
        return ScanResult{.carry = {decayed + xs[0]}, .ys = {carry[0]}};
      },
      {start}, {move_axis(added, 1, 0), move_axis(through, 1, 0)}, dims[1], {.names = {"state"}});
  const Tensor from_before =
      decay(total,
            open([](const Segments& s) { return equal(s.own_BCQ, expand_dims(s.before_BC, -1)); }));
  const Tensor seen = einsum("bcqgn,bcgrnp->bcqgrp", c, move_axis(chunks.ys[0], 0, 1));
  y = y + seen * expand_dims(from_before, -1);

  RecurrenceResult out{.y_BTGRP = slice_in_dim(flatten(y, 1, 2), 1, 0, length),
                       .state = {.h_BGRNP = chunks.carry[0]}};
  if (segments) out.state.segment_B = index_in_dim(segments->last_BC, 1, -1);
  return out;
}

Tree<StateSpec> RecurrentMixer::decode_state_specs(const DecodeDims& dims) const {
  Tree<StateSpec> out = Layer::decode_state_specs(dims);
  const StateDims s = state_dims();
  out.merge(recurrence_state_specs(path(), dims.batch_size,
                                   {s.num_groups, s.heads_per_group, s.state_dim, s.head_dim},
                                   s.group_axes));
  return out;
}

Tensor RecurrentMixer::recur(const Recurrence& recurrence, const TokenStream& tokens,
                             int64_t chunk_size) {
  std::optional<RecurrenceState> before;
  if (decoding()) before = RecurrenceState{state("state"), state("segment")};
  const RecurrenceResult result = chunked_recurrence(recurrence, tokens, chunk_size, before);
  if (decoding()) {
    set_state("state", result.state.h_BGRNP);
    set_state("segment", result.state.segment_B.value_or(state("segment")));
  }
  return result.y_BTGRP;
}

}  // namespace axle
