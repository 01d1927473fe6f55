#include "layers/attention/caches/kv_cache.h"

#include "config/register.h"

namespace axle {

AXLE_REGISTER(KVCache::Dims)

}  // namespace axle
