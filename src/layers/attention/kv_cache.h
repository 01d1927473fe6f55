// The role KVCache: keeps keys and values between calls while decoding.
//
// Letters in tensor names, for this file only:
//   B batch   T new positions   S positions of the cache   K key/value heads   H head dim
#pragma once

#include "nn/layer.h"

namespace axle {

struct KeyValues {
  Tensor k_BSKH, v_BSKH;

  template <class F>
  void each_field(F&& fn) {
    fn("key", k_BSKH);
    fn("value", v_BSKH);
  }
  static KeyValues read(InputReader& inputs, const std::string& prefix);
};

/// Appends the keys and values of T new positions and returns the keys and values of all S
/// positions. The positions, i32[B, T], are consecutive in each row. Index s along dim S of the
/// result is position s; positions never written hold arbitrary finite values.
class KVCache : public LayerRole<KVCache, KeyValues(const KeyValues& fresh_BTKH,
                                                    const Tensor& positions_BT)> {
 public:
  /// The sizes of the cache, given by attention.
  struct Dims {
    /// Number of key/value heads.
    Positive<int64_t> num_kv_heads;
    /// Size of one head.
    Positive<int64_t> head_dim;
    AXLE_CONFIG(Dims, num_kv_heads, head_dim)
  };
  static constexpr InputNames kInputs = {"fresh", "positions"};
  using LayerRole::LayerRole;
};

/// Keeps every position of every sequence.
///
/// State: key and value [B, S, K, H], in the dtype of DecodeDims.
class DenseKVCache final : public KVCache {
 public:
  struct Config {
    AXLE_CONFIG(DenseKVCache)
  };
  DenseKVCache(const Config&, const Dims& dims, const Scope& scope) : KVCache(scope), dims_(dims) {}
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;

 protected:
  KeyValues forward(const KeyValues& fresh_BTKH, const Tensor& positions_BT) override;

 private:
  Tensor append(std::string_view state_name, const Tensor& fresh_BTKH, const Tensor& starts_B);
  Dims dims_;
};

}  // namespace axle
