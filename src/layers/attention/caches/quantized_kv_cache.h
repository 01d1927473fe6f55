// A cache of 8-bit integers.
#pragma once

#include "layers/attention/caches/row_kv_cache.h"

namespace axle {

/// Keeps every position, as integers of [-127, 127] times a scale for each position and head. The
/// error of an element is at most 1/254 of the largest one of its head.
///
/// State: key and value i8[B, S, K, H]; key_scale and value_scale f32[B, S, K]; segment
/// (RowKVCache).
class QuantizedKVCache final : public RowKVCache {
 public:
  struct Config {
    AXLE_CONFIG(QuantizedKVCache)
  };
  QuantizedKVCache(const Config&, const Dims& dims, const Scope& scope) : RowKVCache(dims, scope) {}
  bool is_exact() const override { return false; }

 protected:
  Tree<StateSpec> kept_specs(const std::string& name, int64_t size,
                             const DecodeDims& dims) const override;
  Tensor append(const std::string& name, const Tensor& fresh_BTKH, const Tensor& starts_B) override;
};

}  // namespace axle
