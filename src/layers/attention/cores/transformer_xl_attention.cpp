#include "layers/attention/cores/transformer_xl_attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/register.h"
#include "layers/attention/masks/attention_mask.h"
#include "layers/mesh_axes.h"
#include "layers/positions/position_embedding.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"

namespace axle {
namespace {

ParamSpec bias_spec(const AttentionCore::Dims& dims) {
  return {.shape = {dims.num_heads, dims.head_dim},
          .mesh_axes = {kShardAxes, kReplicated},
          .init = Zeros{}};
}

}  // namespace

Frequencies TransformerXLAttention::frequencies(const Config& cfg, const Dims& dims) const {
  const int64_t dim = cfg.position_dim.value_or(dims.num_heads * dims.head_dim);
  if (dim % 2 != 0) fail("position_dim", fmt::format("must be even, got {}", dim));
  return PlainFrequencies{}({.theta = cfg.theta, .dim = dim});
}

TransformerXLAttention::TransformerXLAttention(const Config& cfg, const Dims& dims,
                                               const Scope& scope)
    : ScoredCore(cfg, dims, scope),
      frequencies_(frequencies(cfg, dims)),
      position_weight_(
          param("position_weight",
                {.shape = {2 * std::ssize(frequencies_.radians), dims.num_heads, dims.head_dim},
                 .mesh_axes = {kReplicated, kShardAxes, kReplicated},
                 .fan = {.in = {-3}, .out = {-2, -1}}})),
      content_bias_(param("content_bias", bias_spec(dims))),
      position_bias_(param("position_bias", bias_spec(dims))) {}

Tensor TransformerXLAttention::weights(const Tensor& logits, const HeadGroups&, DType result) {
  return softmax(logits, -1, result);
}

Tensor TransformerXLAttention::content_queries(const Tensor& q_BTNH) {
  return q_BTNH + content_bias_();
}

Tensor TransformerXLAttention::position_scores(const Tensor& q_BTNH, const Visibility& visibility) {
  const Tensor biased_BTNH = q_BTNH + position_bias_();
  const TokenPositions& positions = visibility.positions;
  if (!positions.are_consecutive) return scores_at(biased_BTNH, positions);
  return scores_in_order(biased_BTNH, positions, visibility.mask && visibility.mask->is_causal());
}

// Computes the products with the embeddings of the distances T - 1, T - 2, ... once for each query,
// then aligns them, so that column s holds the distance t - s. If the mask is causal, the elements
// of later keys are elements of other queries; the mask hides them. Queries of a block begin at
// another position than its keys, which all distances are larger by.
Tensor TransformerXLAttention::scores_in_order(const Tensor& q_BTNH,
                                               const TokenPositions& positions, bool causal) {
  const int64_t T = q_BTNH.dim(1), S = positions.key_positions.dim(-1);
  const int64_t M = causal && positions.in_order ? std::max(T, S + 1) : T + S;
  Tensor distance_M = (T - 1) - iota({M}, 0);
  if (!positions.in_order) distance_M = distance_M - first_distance(positions);
  const Tensor embedding_MP = sinusoids(distance_M, frequencies_, PairLayout::kHalves);
  const Tensor r_MNH =
      einsum("mp,pnh->mnh", astype(embedding_MP, q_BTNH.dtype()), position_weight_());
  const Tensor products_BNTM =
      einsum("btnh,mnh->bntm", q_BTNH, r_MNH, {.result_dtype = DType::kF32});
  return aligned_by_distance(products_BNTM, S);
}

// At any positions: with w the frequencies and (c_sin, c_cos) = q W^T, the sum over w of
//   c_sin sin((i - j) w) + c_cos cos((i - j) w)
// is a product of a rotated c, which depends on the query position i alone, with the embedding of
// the key position j. No embedding of a pair is computed.
Tensor TransformerXLAttention::scores_at(const Tensor& q_BTNH, const TokenPositions& positions) {
  const auto half = std::ssize(frequencies_.radians);
  const Tensor c_BTNP =
      einsum("btnh,pnh->btnp", q_BTNH, position_weight_(), {.result_dtype = DType::kF32});
  const Tensor c_sin = slice_in_dim(c_BTNP, -1, 0, half),
               c_cos = slice_in_dim(c_BTNP, -1, half, 2 * half);
  const Tensor angle =
      expand_dims(angles_of(squeeze(positions.query_positions, {-1}), frequencies_), -2);
  const Tensor sine = sin(angle), cosine = cos(angle);
  const Tensor rotated_BTNP =
      concatenate({c_cos * sine - c_sin * cosine, c_sin * sine + c_cos * cosine}, -1);
  const Tensor keys =
      sinusoids(squeeze(positions.key_positions, {-2}), frequencies_, PairLayout::kHalves);
  return einsum(keys.rank() == 3 ? "btnp,bsp->bnts" : "btnp,sp->bnts", rotated_BTNP, keys);
}

AXLE_REGISTER(TransformerXLAttention)

}  // namespace axle
