// Which keys each query sees, and what is added to its logits.
#pragma once

#include "layers/attention/biases/logit_bias.h"
#include "layers/attention/key_values.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/blocks/mixer.h"

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
  TokenPlaces places = {};
  const AttentionMask* mask = nullptr;      // nullptr: a query sees every key
  const Handle<LogitBias>* bias = nullptr;  // nullptr: nothing is added
  LogitBias::OfBlock bias_of_block = {};    // in place of `bias`, where these places are a block
  bool has_empty_places = false;            // true: no key is written after the queries
  /// The position of a row's last query, where these queries are a block of the row.
  std::optional<Tensor> last_of_row = {};
  /// pred [T, S] or [B, T, S], and f32 [N, T, S] or [B, N, T, S], that hold beside mask and bias.
  std::optional<Tensor> given_visible = {}, given_bias = {};

  /// Returns the places of T queries, given in `context`, and of keys. Places count from the
  /// beginning of the row, but where a call goes on with rows those of queries are
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
    fn("places", places);
    fn("visible", given_visible);
    fn("bias", given_bias);
  }
  static Visibility read(InputReader& inputs, const std::string& prefix);
};

/// Returns x with zeros at the end of `axis`, up to whole blocks of `size`.
Tensor in_whole_blocks(const Tensor& x, int64_t axis, int64_t size);

}  // namespace axle
