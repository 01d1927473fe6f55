// The role QKV: maps the input of attention to queries, keys and values.
//
// Letters in tensor names, for this file only:
//   B batch         T positions of queries   S positions of keys
//   D model dim     N query heads            K key/value heads     H head dim
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

/// x_BTD -> q_BTNH, k_BSKH, v_BSKH with S = T, dtype of x.
///
/// Positions are i32[B, T]; none means 0, 1, ... in each row. Each head of keys and values may be
/// repeated for the devices that share it (num_head_copies), but not while decoding.
class QKV : public LayerRole<QKV, QKVTensors(const Tensor& x_BTD,
                                             const std::optional<Tensor>& positions_BT)> {
 public:
  /// The sizes of the projections, given by attention.
  struct Dims {
    /// Size of the last dim of x.
    Positive<int64_t> model_dim;
    /// Number of query heads.
    Positive<int64_t> num_heads;
    /// Number of key/value heads.
    Positive<int64_t> num_kv_heads;
    /// Size of one head.
    Positive<int64_t> head_dim;
    AXLE_CONFIG(Dims, model_dim, num_heads, num_kv_heads, head_dim)
  };
  static constexpr InputNames kInputs = {"x", "positions"};
  using LayerRole::LayerRole;
};

}  // namespace axle
