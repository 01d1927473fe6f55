// A cache with a place for every position.
#pragma once

#include "layers/attention/caches/row_kv_cache.h"

namespace axle {

/// Keeps every position of every sequence.
///
/// State: key and value [B, S, K, H], in the dtype of DecodeDims; segment (RowKVCache).
class DenseKVCache final : public RowKVCache {
 public:
  struct Config {
    AXLE_CONFIG(DenseKVCache)
  };
  DenseKVCache(const Config&, const Dims& dims, const Scope& scope) : RowKVCache(dims, scope) {}

 protected:
  Tree<StateSpec> kept_specs(const std::string& name, int64_t size,
                             const DecodeDims& dims) const override;
  Tensor append(const std::string& name, const Tensor& fresh_BT, const Tensor& starts_B) override;
};

}  // namespace axle
