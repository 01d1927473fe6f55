#include "layers/norms/norm.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"

namespace axle {

Tensor Norm::forward(const Tensor&) {
  throw InternalError(fmt::format("{}: expected a norm that overrides forward, got none", path()));
}

AXLE_REGISTER(Norm::Dims)

template class LayerRole<Norm, Norm::Signature>;

}  // namespace axle
