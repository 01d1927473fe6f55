#include "layers/attention/cores/block_plan.h"

#include <algorithm>

namespace axle {
namespace {

// Masks are evaluated for at most this many pairs of a query and a key, which takes about a second.
constexpr int64_t kMaxEvaluated = int64_t{1} << 26;

int64_t num_blocks(int64_t length, int64_t size) { return (length + size - 1) / size; }

}  // namespace

BlockPlan plan_blocks(int64_t num_queries, int64_t num_keys, int64_t query_size, int64_t key_size,
                      const Visibility& visibility) {
  BlockPlan out{.query_size = std::min(query_size, num_queries),
                .key_size = std::min(key_size, num_keys)};
  out.num_query_blocks = num_blocks(num_queries, out.query_size);
  out.num_key_blocks = num_blocks(num_keys, out.key_size);
  const AttentionMask* const mask = visibility.places.in_order ? visibility.mask : nullptr;
  const bool may_evaluate = num_queries <= kMaxEvaluated / num_keys;
  for (int32_t i = 0; i < out.num_query_blocks; ++i) {
    for (int32_t j = 0; j < out.num_key_blocks; ++j) {
      const PlaceBlock block{
          .query_begin = i * out.query_size,
          .query_end = std::min((i + 1) * out.query_size, num_queries),
          .key_begin = j * out.key_size,
          .key_end = std::min((j + 1) * out.key_size, num_keys),
          .may_evaluate = may_evaluate,
      };
      if (!mask || mask->sight(block) != Sight::kNone) out.pairs.emplace_back(i, j);
    }
  }
  return out;
}

}  // namespace axle
