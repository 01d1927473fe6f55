#include "layers/dense/multi_projection.h"

#include "config/register.h"

namespace axle {

AXLE_REGISTER(MultiProjection::Dims)

template class LayerRole<MultiProjection, MultiProjection::Signature>;

}  // namespace axle
