// Keys and values that several layers share.
//
// Source: Brandon et al. 2024, arXiv 2405.12981, section 3; Sun et al. 2024, arXiv 2405.05254.
#pragma once

#include "config/axle_config.h"
#include "layers/attention/caches/dense_kv_cache.h"

namespace axle {

/// Lets later layers use the keys and values of this layer, in every kind of call. They borrow them
/// by BorrowedKVCache.
class SharedKVCache final : public KVCache {
 public:
  struct Config {
    /// The name under which the keys and values are published.
    std::string name = "kv";
    /// Keeps the keys and values.
    Child<KVCache> inner = DenseKVCache::Config{};
    AXLE_CONFIG(SharedKVCache, name, inner)
  };
  SharedKVCache(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }
  void check_mask(const AttentionMask* mask) const override { inner_->check_mask(mask); }
  bool needs_keys() const override { return inner_->needs_keys(); }

 protected:
  KeyValues forward(const KeyValues& fresh_BTKH) override;

 private:
  std::string name_;
  Handle<KVCache> inner_;
};

/// Returns the keys and values that an earlier layer shares (SharedKVCache). The layer that borrows
/// computes queries alone (QueryOnly); keys and values of its own are ignored.
///
/// Throws ConfigError in a call if no earlier layer has published the name.
class BorrowedKVCache final : public KVCache {
 public:
  struct Config {
    /// The name under which the keys and values were published.
    std::string name = "kv";
    AXLE_CONFIG(BorrowedKVCache, name)
  };
  BorrowedKVCache(const Config& cfg, const Dims&, const Scope& scope)
      : KVCache(scope), name_(cfg.name) {}
  bool can_decode() const override { return true; }
  bool needs_keys() const override { return false; }

 protected:
  KeyValues forward(const KeyValues& fresh_BTKH) override;

 private:
  std::string name_;
};

}  // namespace axle
