// A cache with a place for every position.
#pragma once

#include "layers/attention/caches/kv_cache.h"

namespace axle {

/// Keeps every position of every sequence. The key at place s has position s.
///
/// State: key and value [B, S, K, H], in the dtype of DecodeDims; segment i32[B, S], which stays
/// zero if calls give no segment ids.
class DenseKVCache final : public KVCache {
 public:
  struct Config {
    AXLE_CONFIG(DenseKVCache)
  };
  DenseKVCache(const Config&, const Dims& dims, const Scope& scope) : KVCache(scope), dims_(dims) {}
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;

 protected:
  KeyValues forward(const KeyValues& fresh_BTKH) override;

 private:
  Tensor append(std::string_view state_name, const Tensor& fresh_BT, const Tensor& starts_B);
  Dims dims_;
};

}  // namespace axle
