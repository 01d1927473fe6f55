#include "modifiers/attention/set_cache.h"

#include "config/register.h"
#include "layers/attention/caches/shared_kv_cache.h"
#include "modifiers/attention/put_where_it_fits.h"

namespace axle {

std::vector<Rewrite> SetCache::apply(ConfigRef root) const {
  return {put_where_it_fits(root, cfg_.cache.any(), cfg_.at, [](const AnyConfig& old) {
    return old.get_if<BorrowedKVCache::Config>() ? "borrows the keys of another layer" : "";
  })};
}

AXLE_REGISTER(SetCache)

}  // namespace axle
