#include "layers/state_space/lookback.h"

#include "config/register.h"
#include "layers/attention/caches/cached_rows.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

namespace axle {

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

}  // namespace axle
