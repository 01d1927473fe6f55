// The role AttentionMask: decides which keys a query may see.
//
// Masks stay symbolic until a core asks for a tensor. A kernel looks at the classes of
// conjuncts() and skips the blocks that no query sees.
#pragma once

#include <limits>

#include "config/axle_config.h"
#include "config/fields/child.h"
#include "ir/tensor.h"
#include "layers/attention/masks/sight.h"
#include "nn/method.h"

namespace axle {

/// The position of a place in a cache that holds no key. No query reaches it.
inline constexpr int32_t kNoPosition = std::numeric_limits<int32_t>::max();

/// Where the queries and keys of one call of attention stand. All tensors are i32. Those of queries
/// have the shape [T, 1] or [B, T, 1], those of keys [1, S] or [B, 1, S].
struct TokenPlaces {
  Tensor query_positions = {}, key_positions = {};
  /// Segment ids; none: a row is one segment.
  std::optional<Tensor> query_segments = {}, key_segments = {};
  /// [B, 1, 1] or [B, T, 1]: number of tokens at the beginning of each row that all its tokens, or
  /// this query, may see; none: 0.
  std::optional<Tensor> prefix_lengths = {};
  /// True: query t has position t, and key s position s.
  bool in_order = false;
  /// True: the positions of queries follow one another, and so do those of keys; all rows have the
  /// same.
  bool are_consecutive = false;

  /// Returns where query and key, which have segments, belong to the same one: pred [B, T, S].
  /// Padding, the segment 0, belongs to none.
  Tensor same_segment() const;

  template <class F>
  void each_field(F&& fn) {
    fn("query_positions", query_positions);
    fn("key_positions", key_positions);
    fn("query_segments", query_segments);
    fn("key_segments", key_segments);
    fn("prefix_lengths", prefix_lengths);
  }
  static TokenPlaces read(InputReader& inputs, const std::string& prefix);
};

class AttentionMask {
 public:
  using Role = AttentionMask;
  struct Dims {};
  virtual ~AttentionMask() = default;
  /// Returns a predicate that broadcasts to [B, T, S] and is true where the query sees the key.
  virtual Tensor operator()(const TokenPlaces& at) const = 0;
  /// True if no query sees a key after its own position.
  virtual bool is_causal() const { return false; }
  /// True if a query always sees the key of its own position.
  virtual bool sees_itself() const { return false; }
  /// True if decoding some tokens per call gives the same as one call for all tokens. Attention
  /// with another mask refuses to decode, since the caches hold no later keys.
  virtual bool can_decode() const { return is_causal(); }
  /// Returns what the queries of a block see, where places are in order: query and key number i
  /// stand at position i. kSome is always right. In a block with kNone the mask must hide all keys:
  /// attention leaves it out, or computes it for nothing.
  virtual Sight sight(const PlaceBlock&) const { return Sight::kSome; }
  /// Returns the masks that all must allow a key. Kernels handle those that they know and evaluate
  /// the others.
  virtual std::vector<const AttentionMask*> conjuncts() const { return {this}; }
};

}  // namespace axle
