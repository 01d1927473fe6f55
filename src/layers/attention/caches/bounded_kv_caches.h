// Caches of bounded size: pages of a common pool, and the last positions of a window.
#pragma once

#include "config/fields.h"
#include "layers/attention/caches/dense_kv_caches.h"

namespace axle {

// A cache in pages that the sequences of a batch share.
//
// Source: Kwon et al. 2023, arXiv 2309.06180, section 4.

/// Keeps every position in pages of one pool. A sequence takes a page when it writes its first
/// position, so that the pool may be smaller than batch size times the longest sequence.
///
/// Tokens of a sequence that finds the pool empty are not kept: the caller must not start more
/// sequences than fit (check_room). A caller that reuses pages sets page_table and num_used itself.
/// State: key_pages and value_pages [num_pages, page_size, K, H] in the dtype of DecodeDims;
/// page_table i32[B, pages of a sequence], the page + 1, 0 for none; num_used i32[], the pages
/// taken; segment i32[B, S].
class PagedKVCache final : public KVCache, public BoundedCache {
 public:
  struct Config {
    /// Positions in one page.
    Positive<int64_t> page_size = 64;
    /// Pages of the pool; none: enough for all sequences at full length.
    std::optional<Positive<int64_t>> num_pages = {};
    AXLE_CONFIG(PagedKVCache, page_size, num_pages)
  };
  PagedKVCache(const Config& cfg, const Dims& dims, const Scope& scope)
      : KVCache(scope), cfg_(cfg), dims_(dims) {}
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;
  void check_room(std::span<const int64_t> lengths) const override;

 protected:
  KeyValues forward(const KeyValues& fresh_BTKH) override;

 private:
  Tensor page_table(const Tensor& positions_BT);
  Config cfg_;
  Dims dims_;
};

/// Keeps the last W positions of every sequence in a ring: `window` of them, or max_len of
/// DecodeDims if that is less. The result is the ring, then the new tokens: W + T entries, whose
/// positions are given.
///
/// Throws ConfigError at construction unless the mask is, or includes, a window of at most `window`
/// positions before the query.
/// State: key and value [B, W, K, H] in the dtype of DecodeDims; place i32[B, W], the position + 1,
/// 0 if empty; segment i32[B, W].
class SlidingKVCache final : public KVCache {
 public:
  struct Config {
    /// Number of positions kept: as many as the mask shows before the query.
    Required<Positive<int64_t>> window = REQUIRED;
    AXLE_CONFIG(SlidingKVCache, window)
  };
  SlidingKVCache(const Config& cfg, const Dims& dims, const Scope& scope)
      : KVCache(scope), window_(cfg.window), dims_(dims) {}
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;
  void check_mask(const AttentionMask* mask) const override;

 protected:
  KeyValues forward(const KeyValues& fresh_BTKH) override;

 private:
  int64_t window_;
  Dims dims_;
};

}  // namespace axle
