// The role QKV: from the input of attention to its queries, keys and values.
//
// Letters in tensor names, for this file only:
//   B batch   T positions of queries   S positions of keys   D model dim   N query heads   K
//   key/value heads   H head dim
#pragma once

#include "nn/layer.h"

namespace axle {

struct QKVTensors {
  Tensor q_BTNH, k_BSKH, v_BSKH;

  template <class F>
  void each_field(F&& fn) {
    fn("query", q_BTNH);
    fn("key", k_BSKH);
    fn("value", v_BSKH);
  }
};

/// x_BTD -> q_BTNH, k_BSKH, v_BSKH with S = T, dtype of x. Positions (i32[B, T]) count from 0 where
/// they are none. Keys and values may have each head repeated for the devices that share it
/// (copies_of_heads), but not in decoding.
class QKV : public LayerRole<QKV, QKVTensors(const Tensor& x_BTD,
                                             const std::optional<Tensor>& positions_BT)> {
 public:
  /// What attention tells.
  struct Dims {
    /// Size of the last dim of x.
    Positive<int64_t> model_dim;
    /// Heads of queries.
    Positive<int64_t> num_heads;
    /// Heads of keys and values.
    Positive<int64_t> num_kv_heads;
    /// Size of one head.
    Positive<int64_t> head_dim;
    AXLE_CONFIG(Dims, model_dim, num_heads, num_kv_heads, head_dim)
  };
  static constexpr InputNames kInputs = {"x", "positions"};
  using LayerRole::LayerRole;
};

}  // namespace axle
