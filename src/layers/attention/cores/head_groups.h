// Products of grouped heads: each key/value head serves a group of query heads.
//
// Letters in tensor names, for this file only:
//   B batch                T queries       S keys
//   N query heads          K key/value heads              G = N / K
//   H head dim of queries and keys         V head dim of values
#pragma once

#include "layers/attention/key_values.h"

namespace axle {

/// Queries and keys of one call, with the layout of their scores: [B, K, T, G, S], or [B, N, T, S]
/// if each query head has a key/value head of its own. Heads are repeated for the devices that
/// share them (num_head_copies).
class HeadGroups {
 public:
  /// Without values there are only scores. Throws ShapeError unless K divides N.
  HeadGroups(const Tensor& q_BTNH, const KeyValues& keys);
  /// Takes keys that with_copies() returned, also outside of a call.
  static HeadGroups of_copies(const Tensor& q_BTNH, const KeyValues& copies) {
    return HeadGroups(q_BTNH, copies, copies.k_BSKH.dim(2));
  }
  /// Returns the products of queries and keys, f32.
  Tensor scores() const;
  /// Returns a view of x, [T, S], [B, T, S], [N, T, S] or [B, N, T, S], that broadcasts to the
  /// scores. `has_heads` tells if x has the dim N.
  Tensor aligned(const Tensor& x, bool has_heads) const;
  /// Returns the values, weighted by `weights` (the shape of the scores): [B, T, N, V].
  Tensor weighted(const Tensor& weights) const;

  /// Products for sums over blocks of keys, f32. `sums` has the shape of the scores with V for S.
  Tensor block_sums(const Tensor& weights) const;
  Tensor weight_gradient(const Tensor& sums_gradient) const;
  /// [B, S, K, V].
  Tensor value_gradient(const Tensor& weights, const Tensor& sums_gradient) const;
  /// [B, T, N, V] -> the layout of sums.
  Tensor as_sums(const Tensor& y_BTNV) const;
  Tensor from_sums(const Tensor& sums) const;
  /// Returns the keys with their heads repeated for the devices that share them.
  static KeyValues with_copies(const KeyValues& keys, int64_t num_heads);

 private:
  HeadGroups(const Tensor& q_BTNH, const KeyValues& keys, int64_t num_shared);

  Tensor q_, k_, v_;
  int64_t num_heads_, num_shared_;
  bool grouped_;
};

}  // namespace axle
