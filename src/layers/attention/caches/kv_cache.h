// The role KVCache: keeps keys and values between calls while decoding.
//
// Letters in tensor names, for this file only:
//   B batch   T new positions   S positions of the cache   K key/value heads   H head dim
#pragma once

#include <cstdint>
#include <span>

#include "layers/attention/key_values.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/mesh_axes.h"
#include "layers/mixer.h"
#include "nn/layer.h"

namespace axle {

/// Decoding: appends the keys and values of T new tokens and returns all that queries may look at.
/// The positions of the new tokens are given and consecutive in each row; kNoPosition marks padding
/// after the last token. Segment ids are given in every call or in none. Other calls: returns what
/// it gets.
///
/// Attention calls its cache always, so that a cache may also return keys and values that another
/// layer has computed.
class KVCache : public LayerRole<KVCache, KeyValues(const KeyValues& fresh_BTKH)> {
 public:
  /// The sizes of the cache, given by attention.
  struct Dims {
    /// Number of key/value heads.
    Positive<int64_t> num_kv_heads;
    /// Size of one head of keys.
    Positive<int64_t> head_dim;
    /// Size of one head of values; none: head_dim.
    std::optional<Positive<int64_t>> value_dim = {};
    AXLE_CONFIG(Dims, num_kv_heads, head_dim, value_dim)
    int64_t value_size() const { return value_dim.value_or(head_dim); }
  };
  static constexpr InputNames kInputs = {"fresh"};
  using LayerRole::LayerRole;
  /// Throws ConfigError if the cache may lack a key that the mask of its attention lets a query
  /// see.
  virtual void check_mask(const AttentionMask*) const {}
  /// True if queries see keys and values as they were given; false if the cache rounds them.
  virtual bool is_exact() const { return true; }
  /// False if the cache has keys and values of its own, so that fresh ones may be empty.
  virtual bool needs_keys() const { return true; }

 protected:
  friend LayerRole;
  void check_result(const KeyValues& all_BSKH, const KeyValues& fresh_BTKH) const;
};

/// Returns the context with the positions 0, 1, ... in each row of x[B, T, ..] if it has none.
MixerContext with_positions(const Tensor& x, MixerContext context);
/// Returns context.positions, i32[B, T], with kNoPosition for the padding after the last token of
/// each row: the positions that a cache is given.
Tensor live_positions(const MixerContext& context);

/// Calls the cache of attention. `placed`: the context, with positions while decoding.
/// `goes_on`: its rows have tokens before this call's. Returns the keys and values that its
/// queries may look at: all that the cache holds. Where rows begin and `mask` is causal, these are
/// the fresh ones alone, which are returned as they are.
KeyValues append_and_look(Handle<KVCache>& cache, KeyValues fresh_BTKH, const MixerContext& placed,
                          bool goes_on, const AttentionMask* mask);

extern template class LayerRole<KVCache, KVCache::Signature>;

// State that caches with an entry for every position share.
//
// Letters in tensor names from here on:
//   B batch   T new positions   S positions of the cache

/// Returns the state of one number, i32, for each entry of a cache.
StateSpec cached_token_spec(int64_t batch_size, int64_t num_places);
/// Returns kept_BS with fresh_BT, converted to its dtype, in row b from index starts[b] on.
Tensor append_rows(const Tensor& kept_BS, const Tensor& fresh_BT, const Tensor& starts_B);

/// An interface beside the role of a cache. Who starts sequences asks each such cache first.
class BoundedCache {
 public:
  virtual ~BoundedCache() = default;
  /// Throws ConfigError unless sequences of these lengths, in tokens, fit together.
  virtual void check_room(std::span<const int64_t> lengths) const = 0;
};

}  // namespace axle
