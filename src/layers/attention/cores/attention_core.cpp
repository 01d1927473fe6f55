#include "layers/attention/cores/attention_core.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "layers/attention/qkv/head_projection.h"
#include "layers/mesh_axes.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"

namespace axle {

Visibility Visibility::read(InputReader& inputs, const std::string& prefix) {
  return {.positions = TokenPositions::read(inputs, prefix + "/positions"),
          .given_visible = inputs.optional(prefix + "/visible"),
          .given_bias = inputs.optional(prefix + "/bias")};
}

Visibility Visibility::of(int64_t num_queries, const KeyValues& keys, const MixerContext& context,
                          bool goes_on) {
  const auto column = [](const Tensor& x_BT) { return expand_dims(x_BT, -1); };
  const auto row = [](const Tensor& x_BS) { return expand_dims(x_BS, -2); };
  Visibility out;
  TokenPositions& at = out.positions;
  at.in_order = at.are_consecutive = !goes_on && !keys.positions_BS;
  at.query_positions = goes_on ? column(*context.positions) : iota({num_queries, 1}, 0);
  at.key_positions = keys.positions_BS ? row(*keys.positions_BS) : iota({1, keys.k_BSKH.dim(1)}, 1);
  if (context.segment_ids) at.query_segments = column(*context.segment_ids);
  if (keys.segments_BS) at.key_segments = row(*keys.segments_BS);
  if (const auto& prefix = context.prefix_lengths)
    at.prefix_lengths = column(prefix->rank() == 1 ? column(*prefix) : *prefix);
  return out;
}

Tensor Visibility::visible() const {
  Tensor all;
  const auto require = [&](const Tensor& sees) { all = all ? all & sees : sees; };
  // No causal query reaches an empty entry.
  if (has_empty_places && !(mask && mask->is_causal()))
    require(positions.key_positions <= last_position());
  if (positions.query_segments && positions.key_segments) {
    require(positions.same_segment());
  } else if (const auto& ids =
                 positions.query_segments ? positions.query_segments : positions.key_segments) {
    require(not_equal(*ids, 0));
  }
  if (mask) require((*mask)(positions));
  if (given_visible) require(*given_visible);
  return all;
}

Tensor Visibility::last_position() const {
  return last_of_row ? *last_of_row : reduce_max(positions.query_positions, {-2}, true);
}

Tensor Visibility::sees_some(int64_t num_keys) const {
  const bool has_segments = positions.query_segments || positions.key_segments;
  const int64_t num_queries = positions.query_positions.dim(-2);
  if (positions.in_order && !has_segments && !given_visible && num_queries <= num_keys &&
      (!mask || mask->sees_itself()))
    return {};
  const Tensor seen = visible();
  return seen ? reduce_or(seen, {-1}, true) : seen;
}

Visibility Visibility::of_block(const Tensor& query_begin, int64_t num_block_queries,
                                const Tensor& key_begin, int64_t num_block_keys,
                                int64_t num_keys) const {
  const auto sliced = [](const Tensor& x, int64_t axis, const Tensor& begin, int64_t size) {
    if (x.dim(axis) == 1 || x.dim(axis) == size) return x;
    return dynamic_slice_in_dim(in_whole_blocks(x, axis, size), begin, size, axis);
  };
  const auto of_queries = [&](const Tensor& x) {
    return sliced(x, x.rank() - 2, query_begin, num_block_queries);
  };
  const auto of_keys = [&](const Tensor& x) {
    return sliced(x, x.rank() - 1, key_begin, num_block_keys);
  };
  // A row that devices share would be collected for each of its blocks.
  const auto whole_row = [](const Tensor& x) {
    return x.rank() == 3 ? sharding_constraint(x, {{kBatchAxes}}) : x;
  };
  const auto of_row_queries = [&](const Tensor& x) { return of_queries(whole_row(x)); };
  const auto of_row_keys = [&](const Tensor& x) { return of_keys(whole_row(x)); };
  const auto attempt = [](const std::optional<Tensor>& x, const auto& slice) {
    return x ? std::optional(slice(*x)) : std::nullopt;
  };
  const auto of_both = [&](const Tensor& x) { return of_keys(of_queries(x)); };
  Visibility out = *this;
  out.positions = {.query_positions = of_row_queries(positions.query_positions),
                   .key_positions = of_row_keys(positions.key_positions),
                   .query_segments = attempt(positions.query_segments, of_row_queries),
                   .key_segments = attempt(positions.key_segments, of_row_keys),
                   .prefix_lengths = attempt(positions.prefix_lengths, of_row_queries),
                   .are_consecutive = positions.are_consecutive};
  out.given_visible = attempt(given_visible, of_both);
  out.given_bias.reset();
  // What fills up the last blocks sees nothing and is not seen.
  const auto require = [&](const Tensor& is_real) {
    out.given_visible = out.given_visible ? *out.given_visible & is_real : is_real;
  };
  if (num_keys % num_block_keys != 0)
    require(iota({1, num_block_keys}, 1) + key_begin < static_cast<double>(num_keys));
  if (const int64_t num_queries = positions.query_positions.dim(-2);
      num_queries % num_block_queries != 0) {
    require(iota({num_block_queries, 1}, 0) + query_begin < static_cast<double>(num_queries));
  }
  return out;
}

Tensor Visibility::added() const {
  if (!bias && !bias_of_block) return given_bias.value_or(Tensor());
  const Tensor own = bias ? (*bias)(positions) : bias_of_block(positions);
  return given_bias ? own + *given_bias : own;
}

Tensor in_whole_blocks(const Tensor& x, int64_t axis, int64_t size) {
  const int64_t missing = size - x.dim(axis) % size;
  return missing == size ? x : pad_in_dim(x, axis, 0, missing);
}

Tensor AttentionCore::operator()(const Tensor& q_BTNH, const KeyValues& keys,
                                 const Visibility& visibility) {
  const Tensor y_BTNH = LayerRole::operator()(q_BTNH, keys, visibility);
  return zeroes_unseen() ? y_BTNH : without_unseen(y_BTNH, keys, visibility);
}

Tensor AttentionCore::without_unseen(const Tensor& y_BTNH, const KeyValues& keys,
                                     const Visibility& visibility) {
  const Tensor sees_BT1 = visibility.sees_some(keys.k_BSKH.dim(1));
  if (sees_BT1) return select(broadcast_to(expand_dims(sees_BT1, -1), y_BTNH.shape()), y_BTNH, 0);
  return y_BTNH;
}

std::vector<Method> AttentionCore::methods() {
  return {method<Tensor, const Tensor&, const KeyValues&, const Visibility&>(
      "forward", kInputs,
      [this](const Tensor& q, const KeyValues& keys, const Visibility& visibility) {
        return (*this)(q, keys, visibility);
      })};
}

AXLE_REGISTER(AttentionCore::Dims)

template class LayerRole<AttentionCore, AttentionCore::Signature>;

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
