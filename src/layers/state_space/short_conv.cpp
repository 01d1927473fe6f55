#include "layers/state_space/short_conv.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

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

}  // namespace axle
