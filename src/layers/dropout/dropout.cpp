#include "layers/dropout/dropout.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/random/random.h"
#include "ops/random/random_part.h"

namespace axle {

Dropout::Dropout(const Config& cfg, const Dims&, const Scope& scope)
    : LayerRole(scope), rate_(cfg.rate) {}

bool Dropout::drops() const { return rate_ != 0 && Invocation::current().options().training; }

Tensor Dropout::without(const Tensor& dropped, const Tensor& x) const {
  return select(dropped, 0, x) / (1 - rate_);
}

Tensor Dropout::forward(const Tensor& x) {
  if (!drops()) return x;
  return without(random::bernoulli(Invocation::current().key(), x.shape(), rate_), x);
}

Dropout::OfPart Dropout::of_parts(const Shape& whole) {
  const Invocation::Frame call(*this);
  if (!drops()) return [](const Tensor& part, const Values&) { return part; };
  const random::Key key = Invocation::current().key();
  return [=, this](const Tensor& part, const Values& begin) {
    return without(random::bernoulli(key, random::Part{whole, begin, part.shape()}, rate_), part);
  };
}

AXLE_REGISTER(Dropout::Dims)
AXLE_REGISTER(Dropout)

template class LayerRole<Dropout, Dropout::Signature>;

}  // namespace axle
