#include "layers/attention/qkv/separate_qkv.h"

#include "config/register.h"

namespace axle {
namespace {

HeadDims queries(const QKV::Dims& dims) {
  return {.model_dim = dims.model_dim, .num_heads = dims.num_heads, .head_dim = dims.head_dim};
}
HeadDims keys(const QKV::Dims& dims) {
  return {.model_dim = dims.model_dim,
          .num_heads = dims.num_kv_heads,
          .head_dim = dims.head_dim,
          .num_query_heads = dims.num_heads};
}

}  // namespace

SeparateQKV::SeparateQKV(const Config& cfg, const Dims& dims, const Scope& scope)
    : QKV(scope),
      q_proj_(child("q_proj", cfg.q_proj, queries(dims))),
      k_proj_(child("k_proj", cfg.k_proj, keys(dims))),
      v_proj_(child("v_proj", cfg.v_proj, keys(dims))) {}

QKVTensors SeparateQKV::forward(const Tensor& x_BTD, const std::optional<Tensor>&) {
  // Braces evaluate the projections in order.
  return {q_proj_(x_BTD), k_proj_(x_BTD), v_proj_(x_BTD)};
}

AXLE_REGISTER(SeparateQKV)

}  // namespace axle
