// The role KVCache, and caches of every position.
#pragma once

#include <cstdint>
#include <span>

#include "config/config_type.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/attention/qkv/key_values.h"
#include "layers/mesh_axes.h"
#include "layers/mixer.h"
#include "nn/layer.h"

namespace axle {

// The role KVCache: keeps keys and values between calls while decoding.
//
// Letters in tensor names, from here on:
//   B batch   T new positions   S positions of the cache   K key/value heads   H head dim

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

// Caches with an entry for every position of every sequence.
//
// Letters in tensor names from here on:
//   B batch   T new positions   S positions of the cache

/// A cache in which the key at index s has position s. Subclasses say how keys and values are kept.
///
/// State: segment i32[B, S], which stays zero if calls pass no segment ids; the subclass's own.
class RowKVCache : public KVCache {
 public:
  RowKVCache(const Dims& dims, const Scope& scope) : KVCache(scope), dims_(dims) {}
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const final;

 protected:
  KeyValues forward(const KeyValues& fresh_BTKH) final;
  /// Returns the state of keys or of values, by names that begin with `name`, for heads of `size`
  /// elements.
  virtual Tree<StateSpec> kept_specs(const std::string& name, int64_t size,
                                     const DecodeDims& dims) const = 0;
  /// Writes new keys or values to row b from index starts[b] on. Returns all entries, in
  /// the dtype of the new ones.
  virtual Tensor append(const std::string& name, const Tensor& fresh_BT,
                        const Tensor& starts_B) = 0;
  /// Does so with the numbers of one state, unchanged but for the state's dtype. Returns the state.
  Tensor append_to_state(const std::string& name, const Tensor& fresh_BT, const Tensor& starts_B);

  int64_t num_kv_heads() const { return dims_.num_kv_heads; }

 private:
  Dims dims_;
};

/// Keeps every position of every sequence.
///
/// State: key and value [B, S, K, H], in the dtype of DecodeDims; segment (RowKVCache).
class DenseKVCache final : public RowKVCache {
 public:
  struct Config {
    AXLE_CONFIG(DenseKVCache)
  };
  DenseKVCache(const Config&, const Dims& dims, const Scope& scope) : RowKVCache(dims, scope) {}

 protected:
  Tree<StateSpec> kept_specs(const std::string& name, int64_t size,
                             const DecodeDims& dims) const override;
  Tensor append(const std::string& name, const Tensor& fresh_BT, const Tensor& starts_B) override;
};

/// Keeps every position, as integers of [-127, 127] times a scale for each position and head. The
/// error of an element is at most 1/254 of the largest one of its head.
///
/// State: key and value i8[B, S, K, H]; key_scale and value_scale f32[B, S, K]; segment
/// (RowKVCache).
class QuantizedKVCache final : public RowKVCache {
 public:
  struct Config {
    AXLE_CONFIG(QuantizedKVCache)
  };
  QuantizedKVCache(const Config&, const Dims& dims, const Scope& scope) : RowKVCache(dims, scope) {}
  bool is_exact() const override { return false; }

 protected:
  Tree<StateSpec> kept_specs(const std::string& name, int64_t size,
                             const DecodeDims& dims) const override;
  Tensor append(const std::string& name, const Tensor& fresh_BTKH, const Tensor& starts_B) override;
};

// Keys and values that several layers share.
//
// Source: Brandon et al. 2024, arXiv 2405.12981, section 3; Sun et al. 2024, arXiv 2405.05254.

/// Lets later layers use the keys and values of this layer, in every kind of call. They borrow them
/// by BorrowedKVCache.
class SharedKVCache final : public KVCache {
 public:
  struct Config {
    /// The name under which the keys and values are published.
    std::string name = "kv";
    /// Keeps the keys and values.
    Child<KVCache> inner = DenseKVCache::Config{};
    AXLE_CONFIG(SharedKVCache, name, inner)
  };
  SharedKVCache(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }
  void check_mask(const AttentionMask* mask) const override { inner_->check_mask(mask); }
  bool needs_keys() const override { return inner_->needs_keys(); }

 protected:
  KeyValues forward(const KeyValues& fresh_BTKH) override;

 private:
  std::string name_;
  Handle<KVCache> inner_;
};

/// Returns the keys and values that an earlier layer shares (SharedKVCache). The layer that borrows
/// computes queries alone (QueryOnly); keys and values of its own are ignored.
///
/// Throws ConfigError in a call if no earlier layer has published the name.
class BorrowedKVCache final : public KVCache {
 public:
  struct Config {
    /// The name under which the keys and values were published.
    std::string name = "kv";
    AXLE_CONFIG(BorrowedKVCache, name)
  };
  BorrowedKVCache(const Config& cfg, const Dims&, const Scope& scope)
      : KVCache(scope), name_(cfg.name) {}
  bool can_decode() const override { return true; }
  bool needs_keys() const override { return false; }

 protected:
  KeyValues forward(const KeyValues& fresh_BTKH) override;

 private:
  std::string name_;
};

}  // namespace axle
