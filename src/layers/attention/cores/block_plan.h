// Which blocks of queries and keys are computed, and in which order.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "layers/attention/cores/visibility.h"

namespace axle {

/// The blocks of T queries and S keys, `query_size` and `key_size` each, but for the last.
struct BlockPlan {
  int64_t query_size = 0, key_size = 0;
  int64_t num_query_blocks = 0, num_key_blocks = 0;
  /// The numbers of the query block and the key block, for each pair of which some query may see
  /// some key; by query block, then by key block.
  std::vector<std::pair<int32_t, int32_t>> pairs = {};
  /// The scores that are computed, of one head.
  double num_scores() const {
    return static_cast<double>(pairs.size()) * static_cast<double>(query_size * key_size);
  }
};

/// Leaves out the pairs that the mask hides from all queries. Nothing is left out where places are
/// not in order. The sizes are at most T and S.
BlockPlan plan_blocks(int64_t num_queries, int64_t num_keys, int64_t query_size, int64_t key_size,
                      const Visibility& visibility);

}  // namespace axle
