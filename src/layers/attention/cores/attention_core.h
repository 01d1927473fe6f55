// The role AttentionCore: what happens between the projections of attention and its output.
//
// Letters in tensor names:
//   B batch         T queries            S keys
//   N query heads   K key/value heads    H head dim
#pragma once

#include "layers/attention/biases/logit_bias.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/key_values.h"
#include "layers/mixer.h"
#include "nn/layer.h"

namespace axle {

/// The logit of a key that a query does not see. It is finite, so that the softmax of a query that
/// sees no key is uniform, not NaN; the result of such a query is not used (AttentionCore).
inline constexpr double kHiddenLogit = -1e15;

/// Keeps mask and bias as objects. A core that knows their classes computes with them; other cores
/// call visible() and added().
///
/// A query sees a key if the mask allows it, the segments are equal, neither is padding (the
/// segment 0), and the key is written.
struct Visibility {
  TokenPositions positions = {};
  const AttentionMask* mask = nullptr;      // nullptr: a query sees every key
  const Handle<LogitBias>* bias = nullptr;  // nullptr: nothing is added
  LogitBias::OfBlock bias_of_block = {};    // instead of `bias`, where `positions` are a block
  bool has_empty_places = false;            // true: no key is written after the queries
  /// The position of a row's last query, where these queries are a block of the row.
  std::optional<Tensor> last_of_row = {};
  /// pred [T, S] or [B, T, S], and f32 [N, T, S] or [B, N, T, S], that hold beside mask and bias.
  std::optional<Tensor> given_visible = {}, given_bias = {};

  /// Returns the positions of T queries, given in `context`, and of keys. They count from the
  /// beginning of the row, but where a call continues rows, positions of queries are
  /// context.positions.
  static Visibility of(int64_t num_queries, const KeyValues& keys, const MixerContext& context,
                       bool goes_on);
  /// Returns the position of the last query, [1, 1] or [B, 1, 1].
  Tensor last_position() const;
  /// Returns a predicate [T, S] or [B, T, S]; an empty tensor if every query sees every key.
  Tensor visible() const;
  /// Returns a predicate [T, 1] or [B, T, 1], true for queries that see one of the keys; an empty
  /// tensor if all do.
  Tensor sees_some(int64_t num_keys) const;
  /// Returns what holds for a block of queries and keys, which begin at i32 scalars; without
  /// given_bias, whose gradient the caller adds up. Queries and keys are padded to whole blocks;
  /// keys from `num_keys` on are padding, which nothing sees.
  Visibility of_block(const Tensor& query_begin, int64_t num_block_queries, const Tensor& key_begin,
                      int64_t num_block_keys, int64_t num_keys) const;
  /// Returns f32 [N, T, S] or [B, N, T, S]; an empty tensor if nothing is added.
  Tensor added() const;

  template <class F>
  void each_field(F&& fn) {
    fn("positions", positions);
    fn("visible", given_visible);
    fn("bias", given_bias);
  }
  static Visibility read(InputReader& inputs, const std::string& prefix);
};

/// Returns x with zeros at the end of `axis`, up to whole blocks of `size`.
Tensor in_whole_blocks(const Tensor& x, int64_t axis, int64_t size);

/// q_BTNH, keys and values, what is visible -> y_BTNH in the dtype of the values. If the values
/// have a head dim of their own, y has it. The core scales the queries. A query that sees no key
/// gets zeros, regardless of what the core computes, and nothing gets a gradient from it.
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
  /// True if the core itself returns zeros for queries that see no key. Otherwise what each query
  /// sees is computed once more, for all keys at once.
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

// Products of grouped heads: each key/value head serves a group of query heads.
//
// Letters in tensor names from here on:
//   B batch                T queries       S keys
//   N query heads          K key/value heads              G = N / K
//   H head dim of queries and keys         V head dim of values

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
  /// scores. `has_heads` says if x has the dim N.
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
