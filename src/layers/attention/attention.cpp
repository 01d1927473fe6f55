#include "layers/attention/attention.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/register.h"
#include "layers/mesh_axes.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/convert.h"
#include "ops/elementwise/trigonometry.h"
#include "ops/movement/broadcast.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/products/dot.h"
#include "ops/products/einsum.h"
#include "ops/reductions/reduce.h"
#include "ops/reductions/softmax.h"

namespace axle {
namespace {

// Finite, so that the softmax of a query that sees no key is uniform, not NaN.
constexpr double kNegativeInfinity = -1e15;

// Repeats key or value heads to num_heads heads for the devices that share them. Does nothing if
// the projection has repeated them already.
Tensor repeat_heads(const Tensor& x_BSKH, int64_t num_heads) {
  const int64_t count = num_heads / x_BSKH.dim(2);
  return count == 1 ? x_BSKH : sharding_constraint(repeat(x_BSKH, count, 2), kWholeSequenceAxes);
}

// Returns positions_BT that count 0, 1, ... in each row.
Tensor counted_positions(const Tensor& x_BTD) { return iota({x_BTD.dim(0), x_BTD.dim(1)}, 1); }

// Throws ShapeError unless positions and segment ids are i32[B, T]. Some other types and shapes
// would be broadcast without an error.
void check_context(const std::string& where, const Tensor& x_BTD, const MixerContext& context) {
  if (x_BTD.rank() != 3) return;  // the projection reports this error
  const Type expected{DType::kI32, {x_BTD.dim(0), x_BTD.dim(1)}};
  for (const auto& [name, given] : {std::pair("positions", &context.positions),
                                    std::pair("segment_ids", &context.segment_ids)}) {
    if (*given && (*given)->type() != expected) {
      throw ShapeError(fmt::format("{}{}{}: expected {}, got {}", where, where.empty() ? "" : ": ",
                                   name, to_text(expected), to_text((*given)->type())));
    }
  }
}

}  // namespace

Attention::Sizes Attention::sizes(const Config& cfg, const Dims& dims) const {
  const int64_t num_heads = cfg.num_heads;
  const int64_t num_kv_heads = cfg.num_kv_heads.value_or(num_heads);
  if (num_heads % num_kv_heads != 0) {
    fail("num_kv_heads",
         fmt::format("must divide num_heads, got {} and {}", num_kv_heads, num_heads));
  }
  if (!cfg.head_dim && dims.model_dim % num_heads != 0) {
    fail("num_heads", fmt::format("must divide the model dim unless head_dim is set, got {} and {}",
                                  num_heads, dims.model_dim));
  }
  const int64_t head_dim = cfg.head_dim.value_or(dims.model_dim / num_heads);
  const Shape weight{dims.model_dim, num_heads, head_dim};
  if (!is_countable(weight)) fail("num_heads", too_large_text({DType::kF32, weight}));
  return {num_heads, num_kv_heads, head_dim};
}

Attention::Attention(const Config& cfg, const Dims& dims, const Scope& scope)
    : Mixer(scope),
      sizes_(sizes(cfg, dims)),
      mask_(cfg.mask ? cfg.mask->build({}, {.path = scope.path}) : nullptr),
      logit_cap_(cfg.logit_cap),
      qkv_(child("qkv", cfg.qkv,
                 {.model_dim = dims.model_dim,
                  .num_heads = sizes_.num_heads,
                  .num_kv_heads = sizes_.num_kv_heads,
                  .head_dim = sizes_.head_dim})),
      output_(child("output", cfg.output,
                    {.model_dim = dims.model_dim,
                     .num_heads = sizes_.num_heads,
                     .head_dim = sizes_.head_dim})),
      query_norm_(child("query_norm", cfg.query_norm, {.input_dim = sizes_.head_dim})),
      key_norm_(child("key_norm", cfg.key_norm, {.input_dim = sizes_.head_dim})),
      dropout_(child("dropout", cfg.dropout, {})),
      kv_cache_(child("kv_cache", cfg.kv_cache,
                      {.num_kv_heads = sizes_.num_kv_heads, .head_dim = sizes_.head_dim})) {}

// Names queries, keys or values for remat policies: "qkv", the name of all three, and own_name.
Tensor Attention::projected(const Tensor& x_BTNH, std::string_view own_name) {
  return name(name(constrain(x_BTNH, kTokenPartsAxes), "qkv"), own_name);
}

Tensor Attention::forward(const Tensor& x_BTD, const MixerContext& context) {
  check_context(config_path(), x_BTD, context);
  MixerContext placed = context;
  if (decoding() && !placed.positions) placed.positions = counted_positions(x_BTD);
  auto [q_BTNH, k_BSKH, v_BSKH] = qkv_(x_BTD, placed.positions);
  if (query_norm_) q_BTNH = (*query_norm_)(q_BTNH);
  if (key_norm_) k_BSKH = (*key_norm_)(k_BSKH);
  q_BTNH = q_BTNH * (1 / std::sqrt(static_cast<double>(sizes_.head_dim)));
  q_BTNH = projected(q_BTNH, "q_proj");
  k_BSKH = constrain(projected(k_BSKH, "k_proj"), kWholeSequenceAxes);
  v_BSKH = constrain(projected(v_BSKH, "v_proj"), kWholeSequenceAxes);
  if (decoding()) {
    const KeyValues all = kv_cache_({k_BSKH, v_BSKH}, *placed.positions);
    k_BSKH = all.k_BSKH;
    v_BSKH = all.v_BSKH;
  }
  const Tensor context_BTNH = constrain(
      attend(q_BTNH, k_BSKH, v_BSKH, visible(x_BTD, k_BSKH.dim(1), placed)), kTokenPartsAxes);
  return name(output_(name(context_BTNH, "attention_context")), "attention_output");
}

// Returns a predicate [T, S] or [B, T, S] that is true where the query sees the key; none: every
// query sees every key.
Tensor Attention::visible(const Tensor& x_BTD, int64_t num_keys,
                          const MixerContext& context) const {
  const Tensor keys_1S = iota({1, num_keys}, 1);
  const auto masked = [&](const Tensor& queries) {
    return mask_ ? (*mask_)(queries, keys_1S) : Tensor();
  };
  if (decoding()) {
    const Tensor queries_BT1 = expand_dims(*context.positions, -1);
    const Tensor written = queries_BT1 >= keys_1S;
    const Tensor allowed = masked(queries_BT1);
    return allowed ? written & allowed : written;
  }
  const Tensor allowed = masked(iota({x_BTD.dim(1), 1}, 0));
  if (!context.segment_ids) return allowed;
  const Tensor& ids = *context.segment_ids;
  const Tensor same_text = equal(expand_dims(ids, 2), expand_dims(ids, 1));
  return allowed ? same_text & allowed : same_text;
}

Tensor Attention::attend(const Tensor& q_BTNH, const Tensor& k_BSKH, const Tensor& v_BSKH,
                         const Tensor& visible_BTS) {
  const int64_t num_shared =
      sizes_.num_kv_heads * num_head_copies(sizes_.num_kv_heads, sizes_.num_heads);
  const bool grouped = num_shared != sizes_.num_heads;
  const Tensor k = repeat_heads(k_BSKH, num_shared), v = repeat_heads(v_BSKH, num_shared);
  // Grouped scores have T before G, since dot_general returns the dims in this order.
  const Tensor q = grouped ? unflatten(q_BTNH, 2, {num_shared, -1}) : q_BTNH;
  Tensor scores = einsum(grouped ? "btkgh,bskh->bktgs" : "btnh,bsnh->bnts", q, k,
                         {.result_dtype = DType::kF32});
  if (logit_cap_) scores = *logit_cap_ * tanh(scores / *logit_cap_);
  if (visible_BTS) {
    Tensor mask = visible_BTS;
    if (grouped) mask = expand_dims(mask, -2);
    if (visible_BTS.rank() == 3) mask = expand_dims(mask, 1);
    scores = select(broadcast_to(mask, scores.shape()), scores, kNegativeInfinity);
  }
  add_summary("max_logit", reduce_max(scores, all_axes(scores)));
  Tensor probs = softmax(scores, -1, v_BSKH.dtype());
  if (dropout_) probs = (*dropout_)(probs);
  const Tensor context = einsum(grouped ? "bktgs,bskh->btkgh" : "bnts,bsnh->btnh", probs, v);
  return reshape(context, q_BTNH.shape());
}

AXLE_REGISTER(Attention)

}  // namespace axle
