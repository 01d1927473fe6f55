#include "layers/dense/projection.h"

#include "config/register.h"

namespace axle {

AXLE_REGISTER(Projection::Dims)

template class LayerRole<Projection, Projection::Signature>;

}  // namespace axle
