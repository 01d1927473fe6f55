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

int64_t num_shared_heads(int64_t num_heads, const KeyValues& keys) {
  const int64_t num_kv_heads = keys.k_BSKH.dim(2);
  if (num_heads % num_kv_heads != 0) {
    throw ShapeError(fmt::format(
        "attention: expected a number of key heads that divides the {} query heads, got {}",
        num_heads, num_kv_heads));
  }
  return num_kv_heads * num_head_copies(num_kv_heads, num_heads);
}

}  // namespace

HeadGroups::HeadGroups(const Tensor& q_BTNH, const KeyValues& keys)
    : HeadGroups(q_BTNH, keys, num_shared_heads(q_BTNH.dim(2), keys)) {}

HeadGroups::HeadGroups(const Tensor& q_BTNH, const KeyValues& keys, int64_t num_shared)
    : num_heads_(q_BTNH.dim(2)), num_shared_(num_shared), grouped_(num_shared_ != num_heads_) {
  q_ = grouped_ ? unflatten(q_BTNH, 2, {num_shared_, -1}) : q_BTNH;
  k_ = repeat_key_heads(keys.k_BSKH, num_shared_);
  if (keys.v_BSKH) v_ = repeat_key_heads(keys.v_BSKH, num_shared_);
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

Tensor HeadGroups::block_sums(const Tensor& weights) const {
  return einsum(grouped_ ? "bktgs,bskv->bktgv" : "bnts,bsnv->bntv", weights, v_,
                {.result_dtype = DType::kF32});
}

Tensor HeadGroups::weight_gradient(const Tensor& sums_gradient) const {
  return einsum(grouped_ ? "bktgv,bskv->bktgs" : "bntv,bsnv->bnts", sums_gradient, v_,
                {.result_dtype = DType::kF32});
}

Tensor HeadGroups::value_gradient(const Tensor& weights, const Tensor& sums_gradient) const {
  return einsum(grouped_ ? "bktgs,bktgv->bskv" : "bnts,bntv->bsnv", weights, sums_gradient,
                {.result_dtype = DType::kF32});
}

Tensor HeadGroups::as_sums(const Tensor& y_BTNV) const {
  if (!grouped_) return swap_axes(y_BTNV, 1, 2);
  return swap_axes(unflatten(y_BTNV, 2, {num_shared_, -1}), 1, 2);
}

Tensor HeadGroups::from_sums(const Tensor& sums) const {
  const Tensor y = swap_axes(sums, 1, 2);
  return grouped_ ? flatten(y, 2, 3) : y;
}

KeyValues HeadGroups::with_copies(const KeyValues& keys, int64_t num_heads) {
  const int64_t num_shared = num_shared_heads(num_heads, keys);
  KeyValues out = keys;
  out.k_BSKH = repeat_key_heads(keys.k_BSKH, num_shared);
  out.v_BSKH = repeat_key_heads(keys.v_BSKH, num_shared);
  return out;
}

}  // namespace axle
