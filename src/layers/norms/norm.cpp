#include "layers/norms/norm.h"

#include "config/register.h"

namespace axle {

AXLE_REGISTER(Norm::Dims)

}  // namespace axle
