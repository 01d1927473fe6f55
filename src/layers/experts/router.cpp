#include "layers/experts/router.h"

#include "config/register.h"

namespace axle {

AXLE_REGISTER(RouterDims)

template class LayerRole<Router, Router::Signature>;

}  // namespace axle
