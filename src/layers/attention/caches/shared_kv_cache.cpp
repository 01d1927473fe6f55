#include "layers/attention/caches/shared_kv_cache.h"

#include "config/register.h"

namespace axle {

SharedKVCache::SharedKVCache(const Config& cfg, const Dims& dims, const Scope& scope)
    : KVCache(scope), name_(cfg.name), inner_(child("inner", cfg.inner, dims)) {}

KeyValues SharedKVCache::forward(const KeyValues& fresh_BTKH) {
  KeyValues all = inner_(fresh_BTKH);
  all.each_field([&](std::string_view field, std::optional<Tensor> value) {
    if (value) publish(join_path(name_, field), *value);
  });
  return all;
}

KeyValues BorrowedKVCache::forward(const KeyValues&) {
  return {.k_BSKH = published(name_ + "/key"),
          .v_BSKH = published(name_ + "/value"),
          .positions_BS = find_published(name_ + "/positions"),
          .segments_BS = find_published(name_ + "/segments")};
}

AXLE_REGISTER(SharedKVCache)
AXLE_REGISTER(BorrowedKVCache)

}  // namespace axle
