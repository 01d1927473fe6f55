// The role AttentionCore: what happens between the projections of attention and its output.
//
// Letters in tensor names, for this file only:
//   B batch         T queries            S keys
//   N query heads   K key/value heads    H head dim
#pragma once

#include "layers/attention/cores/visibility.h"
#include "layers/attention/key_values.h"
#include "nn/layer.h"

namespace axle {

/// q_BTNH, keys and values, what is visible -> y_BTNH in the dtype of the values. If the values
/// have a head dim of their own, y has it. The core scales the queries. A query that sees no key
/// gets zeros, whatever the core computes for it, and nothing gets a gradient from it.
class AttentionCore
    : public LayerRole<AttentionCore, Tensor(const Tensor& q_BTNH, const KeyValues& keys,
                                             const Visibility& visibility)> {
 public:
  /// The sizes of attention.
  struct Dims {
    /// Number of query heads.
    Positive<int64_t> num_heads;
    /// Size of one head of queries and keys.
    Positive<int64_t> head_dim;
    AXLE_CONFIG(Dims, num_heads, head_dim)
  };
  static constexpr InputNames kInputs = {"query", "keys", "visibility"};
  using LayerRole::LayerRole;
  Tensor operator()(const Tensor& q_BTNH, const KeyValues& keys, const Visibility& visibility);
  std::vector<Method> methods() override;
  /// A core looks only at the keys that it is given.
  bool can_decode() const override { return true; }

 protected:
  /// True if the core itself gives zeros to queries that see no key. Otherwise what each query sees
  /// is computed once more, for all keys at once.
  virtual bool zeroes_unseen() const { return false; }
  /// Returns the result with zeros for queries that see no key.
  static Tensor without_unseen(const Tensor& y_BTNH, const KeyValues& keys,
                               const Visibility& visibility);
  friend LayerRole;
  void check_result(const Tensor& y_BTNH, const Tensor& q_BTNH, const KeyValues& keys,
                    const Visibility&) const {
    expect_result(y_BTNH, {keys.v_BSKH.dtype(),
                           {q_BTNH.dim(0), q_BTNH.dim(1), q_BTNH.dim(2), keys.v_BSKH.dim(3)}});
  }
};

extern template class LayerRole<AttentionCore, AttentionCore::Signature>;

}  // namespace axle
