// A cache that keeps the last positions.
#pragma once

#include "config/fields/required.h"
#include "layers/attention/caches/kv_cache.h"

namespace axle {

/// Keeps the last W positions of every sequence in a ring: `window` of them, or max_len of
/// DecodeDims if that is less. The result is the ring, then the new tokens: W + T places, whose
/// positions are given.
///
/// Throws ConfigError at construction unless the mask is, or includes, a window of at most `window`
/// positions before the query.
/// State: key and value [B, W, K, H] in the dtype of DecodeDims; place i32[B, W], the position + 1,
/// 0 if empty; segment i32[B, W].
class SlidingKVCache final : public KVCache {
 public:
  struct Config {
    /// Number of positions kept: as many as the mask shows before the query.
    Required<Positive<int64_t>> window = REQUIRED;
    AXLE_CONFIG(SlidingKVCache, window)
  };
  SlidingKVCache(const Config& cfg, const Dims& dims, const Scope& scope)
      : KVCache(scope), window_(cfg.window), dims_(dims) {}
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;
  void check_mask(const AttentionMask* mask) const override;

 protected:
  KeyValues forward(const KeyValues& fresh_BTKH) override;

 private:
  int64_t window_;
  Dims dims_;
};

}  // namespace axle
