#include "layers/attention/latent_attention.h"

#include <fmt/format.h>

#include "config/register.h"
#include "layers/mesh_axes.h"
#include "ops/annotate.h"
#include "ops/create.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"

namespace axle {
namespace {

// The sum over the rank may be taken first, with the query, only if a product is its einsum.
bool is_plain(const Child<Product>& product) { return product.get_if<PlainProduct>() != nullptr; }

// Weights from the latent vector to the heads: R inputs, N H outputs.
ParamSpec up_weight(int64_t rank, int64_t num_heads, int64_t head_dim) {
  return {.shape = {rank, num_heads, head_dim},
          .mesh_axes = {kReplicated, kShardAxes},
          .fan = {.in = {-3}, .out = {-2, -1}}};
}

}  // namespace

LatentAttention::LatentAttention(const Config& cfg, const Dims& dims, const Scope& scope)
    : Mixer(scope),
      num_heads_(cfg.num_heads),
      kv_rank_(cfg.kv_rank),
      nope_dim_(cfg.nope_dim),
      rope_dim_(cfg.rope_dim),
      pairs_(cfg.pairs),
      absorbs_(is_plain(cfg.key_product) && is_plain(cfg.value_product)),
      mask_(child("mask", cfg.mask, {})),
      key_up_(param("key_up", up_weight(kv_rank_, num_heads_, nope_dim_))),
      value_up_(param("value_up", up_weight(kv_rank_, num_heads_, cfg.value_dim))),
      query_up_(child("query_up", cfg.query_up,
                      {.model_dim = cfg.query_rank.value_or(dims.model_dim),
                       .num_heads = num_heads_,
                       .head_dim = nope_dim_ + rope_dim_})),
      kv_down_(child("kv_down", cfg.kv_down,
                     {.input_dim = dims.model_dim,
                      .output_dim = kv_rank_ + rope_dim_,
                      .input_axes = kModelDimAxes})),
      kv_norm_(child("kv_norm", cfg.kv_norm, {.input_dim = kv_rank_})),
      output_(
          child("output", cfg.output,
                {.model_dim = dims.model_dim, .num_heads = num_heads_, .head_dim = cfg.value_dim})),
      core_(child("core", cfg.core, {.num_heads = num_heads_, .head_dim = nope_dim_ + rope_dim_})),
      kv_cache_(child("kv_cache", cfg.kv_cache,
                      {.num_kv_heads = 1, .head_dim = rope_dim_, .value_dim = kv_rank_})),
      key_product_(child("key_product", cfg.key_product,
                         product_dims("bsr,rnh->bsnh", *this, key_up_, WeightUse::kOthersToo))),
      value_product_(
          child("value_product", cfg.value_product,
                product_dims("bsr,rnv->bsnv", *this, value_up_, WeightUse::kOthersToo))) {
  if (rope_dim_ % 2 != 0) note("rope_dim", fmt::format("must be even, got {}", rope_dim_));
  frequencies_ =
      checked_frequencies(cfg.frequencies, {.theta = cfg.theta, .dim = rope_dim_ + rope_dim_ % 2},
                          config_path() + ".frequencies");
  if (cfg.query_rank.has_value() != cfg.query_down.has_value())
    note("query_down", cfg.query_rank ? "expected a projection to query_rank, got none"
                                      : "expected none without query_rank, got a projection");
  if (cfg.query_norm && !cfg.query_rank)
    note("query_norm", "expected none without query_rank, got a norm");
  if (cfg.query_rank) {
    query_down_ = child(
        "query_down", cfg.query_down,
        {.input_dim = dims.model_dim, .output_dim = *cfg.query_rank, .input_axes = kModelDimAxes});
    query_norm_ = child("query_norm", cfg.query_norm, {.input_dim = *cfg.query_rank});
  }
  kv_cache_->check_mask(pointer_to(mask_));
}

Tensor LatentAttention::queries(const Tensor& x_BTD) {
  if (!query_down_) return query_up_(x_BTD);
  const Tensor down = name((*query_down_)(x_BTD), "query_down");
  return query_up_(query_norm_ ? (*query_norm_)(down) : down);
}

Tensor LatentAttention::forward(const Tensor& x_BTD, const MixerContext& context) {
  const MixerContext placed = decoding() ? with_positions(x_BTD, context) : context;
  const Rotation turn(
      angles_of(placed.positions ? *placed.positions : iota({x_BTD.dim(1)}, 0), frequencies_),
      frequencies_.scale, pairs_, x_BTD.dtype());
  const Values query = split(queries(x_BTD), {nope_dim_, rope_dim_}, 3);
  const Tensor q_BTNH = name(concatenate({query[0], turn(query[1])}, 3), "q_proj");
  const Values down = split(name(kv_down_(x_BTD), "kv_down"), {kv_rank_, rope_dim_}, 2);
  const auto one_head = [](const Tensor& x) { return expand_dims(x, 2); };
  KeyValues latent{.k_BSKH = turn(one_head(down[1])), .v_BSKH = one_head(kv_norm_(down[0]))};
  const bool goes_on = decoding() && context.positions;
  latent = append_and_look(kv_cache_, latent, placed, goes_on, pointer_to(mask_));
  Visibility visibility = Visibility::of(x_BTD.dim(1), latent, placed, goes_on);
  visibility.mask = pointer_to(mask_);
  visibility.has_empty_places = decoding();
  const Tensor y_BTNV = constrain(goes_on && absorbs_ ? absorbed(q_BTNH, latent, visibility)
                                                      : expanded(q_BTNH, latent, visibility),
                                  kTokenPartsAxes);
  return name(output_(name(y_BTNV, "attention_context")), "attention_output");
}

// Every head has keys and values of its own.
Tensor LatentAttention::expanded(const Tensor& q_BTNH, const KeyValues& fresh,
                                 const Visibility& visibility) {
  const Tensor latent_BSR = squeeze(fresh.v_BSKH, {2});
  const Tensor k_BSNH = key_product_(latent_BSR, key_up_());
  Shape shared = k_BSNH.shape();
  shared.back() = rope_dim_;
  const Tensor k = concatenate({k_BSNH, broadcast_to(fresh.k_BSKH, shared)}, 3);
  const Tensor v = value_product_(latent_BSR, value_up_());
  return core_(q_BTNH,
               {.k_BSKH = constrain(name(k, "k_proj"), kWholeSequenceAxes),
                .v_BSKH = constrain(name(v, "v_proj"), kWholeSequenceAxes),
                .positions_BS = fresh.positions_BS,
                .segments_BS = fresh.segments_BS},
               visibility);
}

// All heads share one key and one value, the latent vector: q^T (W c) = (W^T q)^T c.
Tensor LatentAttention::absorbed(const Tensor& q_BTNH, const KeyValues& cached,
                                 const Visibility& visibility) {
  const Values query = split(q_BTNH, {nope_dim_, rope_dim_}, 3);
  const Tensor q_BTNR = einsum("btnh,rnh->btnr", query[0], key_up_());
  const Tensor y_BTNR = core_(concatenate({q_BTNR, query[1]}, 3),
                              {.k_BSKH = concatenate({cached.v_BSKH, cached.k_BSKH}, 3),
                               .v_BSKH = cached.v_BSKH,
                               .positions_BS = cached.positions_BS,
                               .segments_BS = cached.segments_BS},
                              visibility);
  return einsum("btnr,rnv->btnv", y_BTNR, value_up_());
}

AXLE_REGISTER(LatentAttention)

}  // namespace axle
