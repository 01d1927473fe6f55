#include "layers/attention/qkv/qkv_wrappers.h"

#include "base/lists.h"
#include "config/register.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

namespace axle {
namespace {

int64_t width_of(NormOver over, int64_t num_heads, int64_t head_dim) {
  return over == NormOver::kHead ? head_dim : saturating_product(num_heads, head_dim);
}

}  // namespace

NormedQKV::NormedQKV(const Config& cfg, const Dims& dims, const Scope& scope)
    : WrappedQKV(cfg.inner, dims, scope),
      over_(cfg.over),
      num_heads_(dims.num_heads),
      num_kv_heads_(dims.num_kv_heads),
      query_norm_(child("query_norm", cfg.query_norm,
                        {.input_dim = width_of(cfg.over, dims.num_heads, dims.head_dim)})),
      key_norm_(child("key_norm", cfg.key_norm,
                      {.input_dim = width_of(cfg.over, dims.num_kv_heads, dims.head_dim)})) {}

Tensor NormedQKV::normed(Handle<Norm>& norm, const Tensor& x_BTNH, int64_t num_heads) const {
  if (over_ == NormOver::kHead) return norm(x_BTNH);
  // Heads that devices share are there several times, side by side.
  const int64_t copies = x_BTNH.dim(2) / num_heads;
  const auto once = [&] { return slice(x_BTNH, {0, 0, 0, 0}, x_BTNH.shape(), {1, 1, copies, 1}); };
  const Tensor y_BTF = norm(flatten(copies == 1 ? x_BTNH : once(), 2, 3));
  return repeat(unflatten(y_BTF, 2, {num_heads, -1}), copies, 2);
}

QKVTensors NormedQKV::forward(const Tensor& x_BTD, const std::optional<Tensor>& positions_BT) {
  QKVTensors x = inner_(x_BTD, positions_BT);
  if (query_norm_) x.q_BTNH = normed(*query_norm_, x.q_BTNH, num_heads_);
  if (key_norm_ && x.k_BSKH) x.k_BSKH = normed(*key_norm_, x.k_BSKH, num_kv_heads_);
  return x;
}

AXLE_REGISTER(NormedQKV)

AXLE_REGISTER(QueryOnly)

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
