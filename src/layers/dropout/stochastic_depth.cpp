#include "layers/dropout/stochastic_depth.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/random/random.h"

namespace axle {

StochasticDepth::StochasticDepth(const Config& cfg, const Dims&, const Scope& scope)
    : LayerRole(scope), rate_(cfg.rate), mode_(cfg.mode) {}

Tensor StochasticDepth::forward(const Tensor& x) {
  Invocation& inv = Invocation::current();
  if (rate_ == 0 || !inv.options().training) return x;
  Shape shape(x.shape().size(), 1);
  if (mode_ == DropUnit::kRow) shape[0] = x.dim(0);
  // Drawn in f32 whatever the dtype of x, which may be too coarse for the rate.
  const Tensor kept = random::uniform(inv.key(), shape) + (1 - rate_) >= 1.0;
  return select(kept, x, 0) / (1 - rate_);
}

AXLE_REGISTER(StochasticDepth::Dims)
AXLE_REGISTER(StochasticDepth)

}  // namespace axle
