// A cache of 8-bit integers.
#pragma once

#include "layers/attention/caches/kv_cache.h"

namespace axle {

/// Keeps every position, as integers of [-127, 127] times a scale for each position and head. The
/// error of an element is at most 1/254 of the largest one of its head.
///
/// State: key and value i8[B, S, K, H]; key_scale and value_scale f32[B, S, K]; segment i32[B, S].
class QuantizedKVCache final : public KVCache {
 public:
  struct Config {
    AXLE_CONFIG(QuantizedKVCache)
  };
  QuantizedKVCache(const Config&, const Dims& dims, const Scope& scope)
      : KVCache(scope), dims_(dims) {}
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;

 protected:
  KeyValues forward(const KeyValues& fresh_BTKH) override;

 private:
  Tensor append(const std::string& name, const Tensor& fresh_BTKH, const Tensor& starts_B);
  Tensor append_numbers(const std::string& name, const Tensor& fresh_BT, const Tensor& starts_B);
  Dims dims_;
};

}  // namespace axle
