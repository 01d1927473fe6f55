// Exchanges the caches that attentions keep while decoding.
#pragma once

#include "layers/attention/caches/dense_kv_cache.h"
#include "modifiers/modifier.h"

namespace axle {

/// Puts a cache into every attention where the model can still be built, and reports the others
/// with the reason: a sliding cache needs a mask with a window, and a layer that borrows the keys
/// of another one has nothing to keep. Caches that share their keys with other layers still do.
class SetCache final : public Modifier {
 public:
  struct Config {
    /// The cache.
    Child<KVCache> cache = DenseKVCache::Config{};
    /// Pattern of the paths of the slots; "**": everywhere.
    std::string at = "**";
    AXLE_CONFIG(SetCache, cache, at)
  };
  SetCache(const Config& cfg, const Dims&, const Scope&) : cfg_(cfg) {}
  /// Throws ConfigError if no attention takes the cache.
  std::vector<Rewrite> apply(ConfigRef root) const override;

 private:
  Config cfg_;
};

}  // namespace axle
