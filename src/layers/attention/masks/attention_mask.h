// The role AttentionMask, which keys a query sees: causal, prefix, segment, sliding window and
// position masks, and combinations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/config_type.h"
#include "config/fields.h"
#include "ir/tensor.h"
#include "nn/layer.h"

namespace axle {

/// Queries at the positions [query_begin, query_end), keys at [key_begin, key_end).
struct PositionBlock {
  int64_t query_begin = 0, query_end = 0, key_begin = 0, key_end = 0;
  /// False: a mask that would have to be evaluated for the block says kSome instead.
  bool may_evaluate = true;
  /// The least and the largest distance from a key to a later query; negative for earlier ones.
  int64_t least_distance() const { return query_begin - (key_end - 1); }
  int64_t largest_distance() const { return query_end - 1 - key_begin; }
};

/// kNone: no query sees a key. kAll: each query sees each key. kSome: some do, or it is not known.
enum class Sight : uint8_t { kNone, kSome, kAll };

/// The sight of queries that see the keys at distances from `least` to `most`.
inline Sight sight_at_distances(const PositionBlock& block, int64_t least, int64_t most) {
  if (block.largest_distance() < least || block.least_distance() > most) return Sight::kNone;
  return block.least_distance() >= least && block.largest_distance() <= most ? Sight::kAll
                                                                             : Sight::kSome;
}

/// The sight where both conditions must hold, and where one is enough.
inline Sight both(Sight a, Sight b) { return std::min(a, b); }
inline Sight either(Sight a, Sight b) { return std::max(a, b); }

/// The position of a cache entry that holds no key. No query reaches it.
inline constexpr int32_t kNoPosition = std::numeric_limits<int32_t>::max();

/// The positions of the queries and keys of one call of attention. All tensors are i32. For queries
/// they have the shape [T, 1] or [B, T, 1], for keys [1, S] or [B, 1, S].
struct TokenPositions {
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
  static TokenPositions read(InputReader& inputs, const std::string& prefix);
};

/// Decides which keys a query may see.
///
/// Masks stay symbolic until a core asks for a tensor. A kernel looks at the classes of conjuncts()
/// and skips the blocks that no query sees. Shapes: B batch, T queries, S keys.
class AttentionMask {
 public:
  using Role = AttentionMask;
  struct Dims {};
  virtual ~AttentionMask() = default;
  /// Returns a predicate that broadcasts to [B, T, S] and is true where the query sees the key.
  virtual Tensor operator()(const TokenPositions& at) const = 0;
  /// True if no query sees a key after its own position.
  virtual bool is_causal() const { return false; }
  /// True if a query always sees the key of its own position.
  virtual bool sees_itself() const { return false; }
  /// True if decoding some tokens per call returns the same as one call for all tokens. Attention
  /// with another mask refuses to decode, since the caches hold no later keys.
  virtual bool can_decode() const { return is_causal(); }
  /// Returns what the queries of a block see, where positions are in order: query and key number i
  /// stand at position i. kSome is always correct. kNone promises that the mask hides all keys of
  /// the block: attention may skip it.
  virtual Sight sight(const PositionBlock&) const { return Sight::kSome; }
  /// Returns the masks that all must allow a key. Kernels handle those that they know and evaluate
  /// the others.
  virtual std::vector<const AttentionMask*> conjuncts() const { return {this}; }
};

/// Null: every query sees every key.
inline const AttentionMask* pointer_to(const std::optional<Handle<AttentionMask>>& mask) {
  return mask ? &**mask : nullptr;
}

/// A query sees its own position and earlier ones.
class CausalMask final : public AttentionMask {
 public:
  struct Config {
    AXLE_CONFIG(CausalMask)
  };
  CausalMask(const Config&, const Dims&, const Scope&) {}
  Tensor operator()(const TokenPositions& at) const override;
  bool is_causal() const override { return true; }
  Sight sight(const PositionBlock& block) const override {
    return sight_at_distances(block, 0, block.largest_distance());
  }
  bool sees_itself() const override { return true; }
};

// The mask of prefix language models.
//
// Source: Raffel et al. 2020, arXiv 1910.10683, section 3.2.1.

/// Every query sees the first prefix_lengths[b] keys of its row b, and no others. In rows of
/// several segments, prefix_lengths[b, t] is for query t. A prefix language model uses
/// AnyOf{CausalMask, PrefixMask}, and an input with prompts (TextInput::Config::prompt).
///
/// Decoding: the prefix must be given in one call. Its tokens cannot see tokens of later calls.
/// Throws ConfigError in a training call without prefix_lengths.
class PrefixMask final : public AttentionMask {
 public:
  struct Config {
    AXLE_CONFIG(PrefixMask)
  };
  PrefixMask(const Config&, const Dims&, const Scope& scope) : path_(scope.as_config()) {}
  Tensor operator()(const TokenPositions& at) const override;
  bool can_decode() const override { return true; }

 private:
  std::string path_;
};

/// A query sees the keys of its own segment, and none if that is 0 (padding). Attention applies
/// this to every call that has segment ids; as a part of AnyOf it must be named.
class SegmentMask final : public AttentionMask {
 public:
  struct Config {
    AXLE_CONFIG(SegmentMask)
  };
  SegmentMask(const Config&, const Dims&, const Scope&) {}
  Tensor operator()(const TokenPositions& at) const override;
  bool can_decode() const override { return true; }
};

/// A query sees its own position and the `window` positions before it.
class SlidingWindowMask final : public AttentionMask {
 public:
  struct Config {
    /// Number of positions before its own that a query sees.
    NonNegative<int64_t> window = 4096;
    AXLE_CONFIG(SlidingWindowMask, window)
  };
  SlidingWindowMask(const Config& cfg, const Dims&, const Scope&) : window_(cfg.window) {}
  Tensor operator()(const TokenPositions& at) const override;
  bool is_causal() const override { return true; }
  Sight sight(const PositionBlock& block) const override {
    return sight_at_distances(block, 0, window_);
  }
  bool sees_itself() const override { return true; }
  int64_t window() const { return window_; }

 private:
  int64_t window_;
};

/// A query sees its own position, the `before` positions before it and the `after` positions after
/// it.
class TwoSidedWindowMask final : public AttentionMask {
 public:
  struct Config {
    /// Number of positions before its own that a query sees.
    NonNegative<int64_t> before = 128;
    /// Number of positions after its own that a query sees.
    NonNegative<int64_t> after = 128;
    AXLE_CONFIG(TwoSidedWindowMask, before, after)
  };
  TwoSidedWindowMask(const Config& cfg, const Dims&, const Scope&)
      : before_(cfg.before), after_(cfg.after) {}
  Tensor operator()(const TokenPositions& at) const override;
  bool is_causal() const override { return after_ == 0; }
  Sight sight(const PositionBlock& block) const override {
    return sight_at_distances(block, -after_, before_);
  }
  bool sees_itself() const override { return true; }
  int64_t before() const { return before_; }
  int64_t after() const { return after_; }

 private:
  int64_t before_, after_;
};

/// A query sees the keys for which a function of both positions is true. The function is registered
/// by name (AXLE_REGISTER), so that recipes can print it.
class PositionMask final : public AttentionMask {
 public:
  struct Config {
    /// Maps query positions [.., T, 1] and key positions [.., 1, S], i32, to a predicate.
    Required<Fn<Tensor(const Tensor& query_positions, const Tensor& key_positions)>> sees =
        REQUIRED;
    /// True: the function never lets a query see a later key.
    bool causal = false;
    AXLE_CONFIG(PositionMask, sees, causal)
  };
  PositionMask(const Config& cfg, const Dims&, const Scope&)
      : sees_(*cfg.sees), causal_(cfg.causal) {}
  Tensor operator()(const TokenPositions& at) const override;
  bool is_causal() const override { return causal_; }
  /// Follows from the ranges of the positions of the block. Where these leave it open, evaluates
  /// the function for all of them.
  Sight sight(const PositionBlock& block) const override;

 private:
  Sight sight_by_ranges(const PositionBlock& block) const;
  Sight sight_by_values(const PositionBlock& block) const;

  Fn<Tensor(const Tensor&, const Tensor&)> sees_;
  bool causal_;
  // The mask of one query and one key, traced for the first sight.
  mutable std::once_flag is_traced_;
  mutable std::shared_ptr<const Region> traced_;
};

/// A query sees the keys that all `masks` allow. Throws ConfigError at construction if `masks` is
/// empty.
class AllOf final : public AttentionMask {
 public:
  struct Config {
    /// The masks that all must allow a key.
    std::vector<Child<AttentionMask>> masks = {};
    AXLE_CONFIG(AllOf, masks)
  };
  AllOf(const Config& cfg, const Dims&, const Scope& scope);
  Tensor operator()(const TokenPositions& at) const override;
  bool is_causal() const override;
  bool sees_itself() const override;
  bool can_decode() const override;
  Sight sight(const PositionBlock& block) const override;
  std::vector<const AttentionMask*> conjuncts() const override;

 private:
  std::vector<Handle<AttentionMask>> masks_;
};

/// A query sees the keys that any of `masks` allows. Throws ConfigError at construction if `masks`
/// is empty.
class AnyOf final : public AttentionMask {
 public:
  struct Config {
    /// The masks of which one must allow a key.
    std::vector<Child<AttentionMask>> masks = {};
    AXLE_CONFIG(AnyOf, masks)
  };
  AnyOf(const Config& cfg, const Dims&, const Scope& scope);
  Tensor operator()(const TokenPositions& at) const override;
  bool is_causal() const override;
  bool sees_itself() const override;
  bool can_decode() const override;
  Sight sight(const PositionBlock& block) const override;

 private:
  std::vector<Handle<AttentionMask>> masks_;
};

// Values of distances, laid out for queries and keys whose positions follow one another.

/// Returns the distance from the first query to the first key, key position - query position, an
/// i32 scalar. Needs `positions.are_consecutive`.
Tensor first_distance(const TokenPositions& positions);
/// Returns element [.., t, T - 1 + s - t] of x, [.., T, M], for each query t and key s, as
/// [.., T, S]: row t is shifted by T - 1 - t elements. M is at least T + S - 1, or S + 1 where
/// elements beyond the end of a row, which are then elements of the next, do not count.
Tensor aligned_by_distance(const Tensor& x_TM, int64_t num_keys);

}  // namespace axle
