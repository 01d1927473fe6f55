#include "layers/experts/token_groups.h"

#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/index.h"
#include "ops/movement/shape.h"
#include "ops/movement/sort.h"
#include "ops/reductions/cumulative.h"
#include "ops/reductions/reduce.h"

namespace axle {

TokenGroups::TokenGroups(const Tensor& x, int64_t num_groups, const std::optional<Tensor>& is_real,
                         GroupBorders borders)
    : rows_(x.dim(0)),
      length_(x.dim(1)),
      groups_(borders == GroupBorders::kRows ? rows_ : num_groups),
      size_(rows_ * length_ / groups_) {
  if (!is_real) return;
  if (borders == GroupBorders::kTokens && groups_ > 1)
    divide_tokens(reshape(*is_real, {rows_ * length_}));
  else
    is_real_NS_ = reshape(*is_real, {groups_, size_});
}

// The first `longer` groups have one token more than the others.
void TokenGroups::divide_tokens(const Tensor& is_real_M) {
  const Tensor real_M = astype(is_real_M, DType::kI32);
  const Tensor total = sum(real_M);
  const Tensor least = total / groups_, longer = total - least * groups_;
  const Tensor group_N = iota({groups_}, 0);
  const Tensor begin_N = group_N * least + minimum(group_N, longer);
  const Tensor tokens_N = least + astype(group_N < longer, DType::kI32);

  const Tensor place_NS = iota({groups_, size_}, 1);
  is_real_NS_ = place_NS < expand_dims(tokens_N, 1);
  const Tensor in_order_M = argsort(astype(logical_not(is_real_M), DType::kI32));
  const Tensor token_NS = minimum(place_NS + expand_dims(begin_N, 1), rows_ * length_ - 1);

  const Tensor token_M = cumsum(real_M, 0) - real_M;
  const Tensor in_longer = longer * (least + 1);
  const Tensor group_M = select(token_M < in_longer, token_M / (least + 1),
                                longer + (token_M - in_longer) / maximum(least, 1));
  const Tensor place_M = group_M * size_ + token_M - take(begin_N, minimum(group_M, groups_ - 1));
  moves_ = {.position_NS = take(in_order_M, token_NS),
            .place_M = minimum(place_M, rows_ * length_ - 1),
            .is_real_M = is_real_M};
}

Tensor TokenGroups::divided(const Tensor& t_BT) const {
  if (moves_) return take(flatten(t_BT, 0, 1), moves_->position_NS);
  Shape shape = t_BT.shape();
  shape[0] = groups_;
  shape[1] = size_;
  return reshape(t_BT, shape);
}

Tensor TokenGroups::joined(const Tensor& t_NS) const {
  Shape shape = t_NS.shape();
  shape[0] = rows_;
  shape[1] = length_;
  if (!moves_) return reshape(t_NS, shape);
  const Tensor t_M = take(flatten(t_NS, 0, 1), moves_->place_M);
  Shape ones(shape.size(), 1);
  ones[0] = rows_;
  ones[1] = length_;
  return select(broadcast_to(reshape(moves_->is_real_M, ones), shape), reshape(t_M, shape), 0);
}

}  // namespace axle
