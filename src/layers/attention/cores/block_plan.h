// Which blocks of queries and keys are computed, and in which order.
#pragma once

#include <cstdint>
#include <vector>

#include "layers/attention/cores/attention_core.h"

namespace axle {

/// A block of queries and a block of keys.
struct BlockPair {
  /// Their indices. `query_block` counts the blocks of a share.
  int32_t query_block, key_block;
  /// The index of the first query in the row.
  int32_t query_begin;
};

/// The blocks of T queries and S keys, `query_size` and `key_size` each, but for the last.
///
/// Devices that share the queries of a row work side by side, each on blocks of its own: as long as
/// the one with the most. So a share is one part of the row, or two: number p from the beginning
/// and number p from the end. Under a causal mask two such parts see as much as any other two.
struct BlockPlan {
  int64_t query_size = 0, key_size = 0;
  int64_t num_shares = 1, parts_of_share = 1;
  /// The blocks of queries of a share, and of keys.
  int64_t num_query_blocks = 0, num_key_blocks = 0;
  /// The pairs of each share of which some query may see some key; by query block, then by key
  /// block. All shares have the same number: hidden pairs, which add nothing, fill up the others.
  std::vector<std::vector<BlockPair>> pairs = {};

  int64_t num_steps() const { return std::ssize(pairs[0]); }
  /// The scores that a device computes, of one head.
  double num_scores() const { return static_cast<double>(num_steps() * query_size * key_size); }
};

/// Leaves out the pairs that the mask hides from all queries. Nothing is left out where positions
/// are not in order. `num_shares` divides T. The sizes are at most `query_size` and `key_size`; but
/// if T has no fitting divisor, a block of queries is a whole part of a share.
BlockPlan plan_blocks(int64_t num_queries, int64_t num_keys, int64_t query_size, int64_t key_size,
                      int64_t num_shares, const Visibility& visibility);

/// Lays out queries [B, T, ..] by the shares of a plan, [shares, B, T / shares, ..], and back.
Tensor in_shares(const Tensor& x_BT, const BlockPlan& plan);
Tensor from_shares(const Tensor& x_PBT, const BlockPlan& plan);

}  // namespace axle
