// The role KVCache: keeps keys and values between calls while decoding.
//
// Letters in tensor names, for this file only:
//   B batch   T new positions   S positions of the cache   K key/value heads   H head dim
#pragma once

#include "layers/attention/key_values.h"
#include "nn/layer.h"

namespace axle {

/// Decoding: appends the keys and values of T new tokens and returns all that queries may look at.
/// The positions of the new tokens are given and consecutive in each row. Segment ids are given in
/// every call or in none. Other calls: returns what it gets.
///
/// Attention calls its cache always, so that a cache may also give keys and values that another
/// layer has computed.
class KVCache : public LayerRole<KVCache, KeyValues(const KeyValues& fresh_BTKH)> {
 public:
  /// The sizes of the cache, given by attention.
  struct Dims {
    /// Number of key/value heads.
    Positive<int64_t> num_kv_heads;
    /// Size of one head.
    Positive<int64_t> head_dim;
    AXLE_CONFIG(Dims, num_kv_heads, head_dim)
  };
  static constexpr InputNames kInputs = {"fresh"};
  using LayerRole::LayerRole;
};

}  // namespace axle
