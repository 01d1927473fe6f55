#include "layers/attention/cores/block_plan.h"

#include <algorithm>

#include "ops/movement/movement.h"

namespace axle {
namespace {

// Masks are evaluated for at most this many pairs of a query and a key, which takes about a second
// for each size of blocks that is tried.
constexpr int64_t kMaxEvaluated = int64_t{1} << 26;
// Shares of two parts are taken if they leave so large a part of the steps or less: their queries
// and results move between devices.
constexpr double kTwoPartsPay = 0.85;

int64_t num_blocks(int64_t length, int64_t size) { return (length + size - 1) / size; }

// The largest size of blocks that fill up the part of a share; no less than an eighth of `most`.
int64_t dividing_size(int64_t part, int64_t most) {
  for (int64_t size = std::min(part, most); 8 * size >= most; --size) {
    if (part % size == 0) return size;
  }
  return part;
}

// Fills up the shares that have fewer pairs than others.
void fill_up(std::vector<std::vector<BlockPair>>& pairs,
             const std::vector<std::vector<BlockPair>>& hidden) {
  size_t most = 0;
  for (const auto& of_share : pairs) most = std::max(most, of_share.size());
  for (size_t p = 0; p < pairs.size(); ++p) {
    if (pairs[p].size() < most) pairs[p].resize(most, hidden[p].at(0));
  }
}

}  // namespace

BlockPlan plan_blocks(int64_t num_queries, int64_t num_keys, int64_t query_size, int64_t key_size,
                      int64_t num_shares, const Visibility& visibility) {
  const AttentionMask* const mask = visibility.positions.in_order ? visibility.mask : nullptr;
  const bool may_evaluate = num_queries <= kMaxEvaluated / num_keys;
  const auto of_parts = [&](int64_t parts_of_share) {
    const int64_t part = num_queries / (num_shares * parts_of_share);
    BlockPlan out{.query_size = num_shares == 1 ? std::min(query_size, num_queries)
                                                : dividing_size(part, query_size),
                  .key_size = std::min(key_size, num_keys),
                  .num_shares = num_shares,
                  .parts_of_share = parts_of_share};
    const int64_t blocks_of_part = num_blocks(part, out.query_size);
    out.num_query_blocks = parts_of_share * blocks_of_part;
    out.num_key_blocks = num_blocks(num_keys, out.key_size);
    out.pairs.resize(num_shares);
    std::vector<std::vector<BlockPair>> hidden(out.pairs.size());
    for (int64_t share = 0; share < num_shares; ++share) {
      const auto at = static_cast<size_t>(share);
      for (int64_t i = 0; i < out.num_query_blocks; ++i) {
        const int64_t part_of_row = i < blocks_of_part ? share : 2 * num_shares - 1 - share;
        const int64_t begin = part_of_row * part + i % blocks_of_part * out.query_size;
        for (int64_t j = 0; j < out.num_key_blocks; ++j) {
          const PositionBlock block{
              .query_begin = begin,
              .query_end = std::min(begin + out.query_size, num_queries),
              .key_begin = j * out.key_size,
              .key_end = std::min((j + 1) * out.key_size, num_keys),
              .may_evaluate = may_evaluate,
          };
          const bool sees = !mask || mask->sight(block) != Sight::kNone;
          (sees ? out.pairs : hidden)[at].push_back(
              {static_cast<int32_t>(i), static_cast<int32_t>(j), static_cast<int32_t>(begin)});
        }
      }
    }
    fill_up(out.pairs, hidden);
    return out;
  };
  BlockPlan one = of_parts(1);
  if (num_shares == 1 || num_queries % (2 * num_shares) != 0) return one;
  BlockPlan two = of_parts(2);
  return two.num_scores() <= kTwoPartsPay * one.num_scores() ? two : one;
}

Tensor in_shares(const Tensor& x_BT, const BlockPlan& plan) {
  const int64_t num_shares = plan.num_shares;
  const Tensor parts = unflatten(x_BT, 1, {num_shares * plan.parts_of_share, -1});
  if (plan.parts_of_share == 1) return move_axis(parts, 1, 0);
  const Tensor first = slice_in_dim(parts, 1, 0, num_shares),
               last = reverse(slice_in_dim(parts, 1, num_shares, 2 * num_shares), {1});
  return move_axis(flatten(stack({first, last}, 2), 2, 3), 1, 0);
}

Tensor from_shares(const Tensor& x_PBT, const BlockPlan& plan) {
  const Tensor shares = move_axis(x_PBT, 0, 1);
  if (plan.parts_of_share == 1) return flatten(shares, 1, 2);
  const Tensor parts = unflatten(shares, 2, {2, -1});
  const Tensor first = index_in_dim(parts, 2, 0), last = reverse(index_in_dim(parts, 2, 1), {1});
  return flatten(concatenate({first, last}, 1), 1, 2);
}

}  // namespace axle
