#include "layers/blocks/published.h"

#include "config/register.h"

namespace axle {

AXLE_REGISTER(Published)

}  // namespace axle
