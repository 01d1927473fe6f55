#include "layers/attention/qkv/query_only.h"

#include "config/register.h"

namespace axle {

AXLE_REGISTER(QueryOnly)

}  // namespace axle
