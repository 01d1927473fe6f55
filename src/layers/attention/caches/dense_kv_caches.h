// Caches with room for every position: plain, by row, in int8, and the cache of another layer.
#pragma once

#include "config/config_type.h"
#include "layers/attention/caches/kv_cache.h"

namespace axle {

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
