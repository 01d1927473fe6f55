#include "layers/attention/cores/head_groups.h"

#include <fmt/format.h>

#include "base/error.h"
#include "layers/attention/qkv/head_projection.h"
#include "layers/mesh_axes.h"
#include "ops/annotate.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/products/einsum.h"

namespace axle {
namespace {

// Repeats key or value heads to num_heads heads for the devices that share them. Does nothing if
// the projection has repeated them already.
Tensor repeat_key_heads(const Tensor& x_BSKH, int64_t num_heads) {
  const int64_t count = num_heads / x_BSKH.dim(2);
  return count == 1 ? x_BSKH : sharding_constraint(repeat(x_BSKH, count, 2), kWholeSequenceAxes);
}

int64_t num_shared_heads(const Tensor& q_BTNH, const KeyValues& keys) {
  const int64_t num_heads = q_BTNH.dim(2), num_kv_heads = keys.k_BSKH.dim(2);
  if (num_heads % num_kv_heads != 0) {
    throw ShapeError(fmt::format(
        "attention: expected a number of key heads that divides the {} query heads, got {}",
        num_heads, num_kv_heads));
  }
  return num_kv_heads * num_head_copies(num_kv_heads, num_heads);
}

}  // namespace

HeadGroups::HeadGroups(const Tensor& q_BTNH, const KeyValues& keys)
    : num_heads_(q_BTNH.dim(2)),
      num_shared_(num_shared_heads(q_BTNH, keys)),
      grouped_(num_shared_ != num_heads_) {
  q_ = grouped_ ? unflatten(q_BTNH, 2, {num_shared_, -1}) : q_BTNH;
  k_ = repeat_key_heads(keys.k_BSKH, num_shared_);
  v_ = repeat_key_heads(keys.v_BSKH, num_shared_);
}

// Grouped scores have T before G, since dot_general returns the dims in this order.
Tensor HeadGroups::scores() const {
  return einsum(grouped_ ? "btkgh,bskh->bktgs" : "btnh,bsnh->bnts", q_, k_,
                {.result_dtype = DType::kF32});
}

Tensor HeadGroups::aligned(const Tensor& x, bool has_heads) const {
  if (!has_heads) {
    const Tensor with_group = grouped_ ? expand_dims(x, -2) : x;
    return x.rank() == 3 ? expand_dims(with_group, 1) : with_group;
  }
  if (!grouped_) return x;
  return swap_axes(unflatten(x, -3, {num_shared_, -1}), -3, -2);
}

Tensor HeadGroups::weighted(const Tensor& weights) const {
  const Tensor y = einsum(grouped_ ? "bktgs,bskv->btkgv" : "bnts,bsnv->btnv", weights, v_);
  return reshape(y, {y.dim(0), y.dim(1), num_heads_, y.dim(-1)});
}

}  // namespace axle
