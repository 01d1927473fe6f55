// The role QKV: maps the input of attention to queries, keys and values.
//
// Letters in tensor names, for this file only:
//   B batch         T positions of queries   S positions of keys
//   D model dim     N query heads            K key/value heads     H head dim
#pragma once

#include "nn/layer.h"

namespace axle {

struct QKVTensors {
  /// Keys and values are empty tensors if another layer computes them (BorrowedKVCache).
  Tensor q_BTNH = {}, k_BSKH = {}, v_BSKH = {};
  /// i32[B, S]: segment ids of keys that belong to a source (QKV::has_source).
  std::optional<Tensor> source_segments_BS = {};

  template <class F>
  void each_field(F&& fn) {
    fn("query", q_BTNH);
    fn("key", k_BSKH);
    fn("value", v_BSKH);
    fn("source_segments", source_segments_BS);
  }
};

/// x_BTD -> q_BTNH, k_BSKH, v_BSKH, dtype of x. S = T, unless the keys belong to a source.
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
  static constexpr InputVectors kVectors = {&Dims::model_dim, 3};
  using LayerRole::LayerRole;
  /// True if keys and values belong to another sequence than x (cross attention). The whole source
  /// is given in every call, so that no cache keeps it.
  virtual bool has_source() const { return false; }
  /// False if keys and values are empty, for a cache that has another layer's.
  virtual bool makes_keys() const { return true; }

 protected:
  friend LayerRole;
  void check_result(const QKVTensors& heads, const Tensor& x_BTD,
                    const std::optional<Tensor>&) const;
};

/// A QKV that changes the queries or keys of another one.
class WrappedQKV : public QKV {
 public:
  bool can_decode() const override { return true; }
  bool has_source() const override { return inner_->has_source(); }
  bool makes_keys() const override { return inner_->makes_keys(); }

 protected:
  WrappedQKV(const Child<QKV>& inner, const Dims& dims, const Scope& scope)
      : QKV(scope), inner_(child("inner", inner, dims)) {}
  Handle<QKV> inner_;
};

extern template class LayerRole<QKV, QKV::Signature>;

}  // namespace axle
