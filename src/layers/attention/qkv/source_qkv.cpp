#include "layers/attention/qkv/source_qkv.h"

#include "config/register.h"

namespace axle {
namespace {

HeadDims key_dims(const SourceQKV::Config& cfg, const QKV::Dims& dims) {
  return {.model_dim = cfg.source_dim.value_or(dims.model_dim),
          .num_heads = dims.num_kv_heads,
          .head_dim = dims.head_dim,
          .num_query_heads = dims.num_heads};
}

}  // namespace

SourceQKV::SourceQKV(const Config& cfg, const Dims& dims, const Scope& scope)
    : QKV(scope),
      source_(cfg.source),
      value_source_(cfg.value_source.value_or(cfg.source)),
      same_tokens_(cfg.same_tokens),
      q_proj_(child(
          "q_proj", cfg.q_proj,
          {.model_dim = dims.model_dim, .num_heads = dims.num_heads, .head_dim = dims.head_dim})),
      k_proj_(child("k_proj", cfg.k_proj, key_dims(cfg, dims))),
      v_proj_(child("v_proj", cfg.v_proj, key_dims(cfg, dims))) {}

QKVTensors SourceQKV::forward(const Tensor& x_BTD, const std::optional<Tensor>&) {
  QKVTensors out{.q_BTNH = q_proj_(x_BTD)};
  out.k_BSKH = k_proj_(published(source_));
  out.v_BSKH = v_proj_(published(value_source_));
  if (has_source()) out.source_segments_BS = find_published(source_ + "/segments");
  return out;
}

AXLE_REGISTER(SourceQKV)

}  // namespace axle
