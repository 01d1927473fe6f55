#include "layers/dropout/dropout.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/random/random.h"

namespace axle {

Dropout::Dropout(const Config& cfg, const Dims&, const Scope& scope)
    : LayerRole(scope), rate_(cfg.rate) {}

Tensor Dropout::forward(const Tensor& x) {
  Invocation& inv = Invocation::current();
  if (rate_ == 0 || !inv.options().training) return x;
  const Tensor dropped = random::bernoulli(inv.key(), x.shape(), rate_);
  return select(dropped, 0, x) / (1 - rate_);
}

AXLE_REGISTER(Dropout::Dims)
AXLE_REGISTER(Dropout)

template class LayerRole<Dropout, Dropout::Signature>;

}  // namespace axle
