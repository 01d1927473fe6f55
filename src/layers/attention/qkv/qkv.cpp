#include "layers/attention/qkv/qkv.h"

#include <fmt/format.h>

#include "base/lists.h"
#include "config/register.h"
#include "layers/mesh_axes.h"
#include "nn/invocation.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"

namespace axle {

void QKV::check_result(const QKVTensors& heads, const Tensor& x_BTD,
                       const std::optional<Tensor>&) const {
  const int64_t batch = x_BTD.dim(0);
  const int64_t num_keys = has_source() ? kAnySize : x_BTD.dim(1);
  expect_result(
      heads.q_BTNH,
      {x_BTD.dtype(),
       {batch, x_BTD.dim(1), given_dims() ? int64_t{given_dims()->num_heads} : kAnySize, kAnySize}},
      "queries");
  if (!makes_keys()) return;
  expect_result(heads.k_BSKH, {x_BTD.dtype(), {batch, num_keys, kAnySize, heads.q_BTNH.dim(3)}},
                "keys");
  expect_result(heads.v_BSKH,
                {x_BTD.dtype(), {batch, heads.k_BSKH.dim(1), heads.k_BSKH.dim(2), kAnySize}},
                "values");
}

AXLE_REGISTER(QKV::Dims)

template class LayerRole<QKV, QKV::Signature>;

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

FusedQKV::FusedQKV(const Config& cfg, const Dims& dims, const Scope& scope)
    : QKV(scope),
      weight_(param("weight", {.shape = {3, dims.model_dim, dims.num_heads, dims.head_dim},
                               .mesh_axes = {kReplicated, kModelDimAxes, kShardAxes, kReplicated},
                               .fan = {.in = {-3}, .out = {-2, -1}, .batch = {-4}}})),
      product_(child("product", cfg.product, product_dims("btd,pdnh->pbtnh", *this, weight_))) {
  if (dims.num_kv_heads != dims.num_heads) {
    fail("num_kv_heads",
         fmt::format("must equal num_heads, got {} and {}; use FusedGroupedQKV or SeparateQKV",
                     dims.num_kv_heads, dims.num_heads));
  }
  if (cfg.bias) {
    bias_ = param("bias", {.shape = {3, dims.num_heads, dims.head_dim},
                           .mesh_axes = {kReplicated, kShardAxes, kReplicated},
                           .init = Zeros{},
                           .fan = {.in = {}, .out = {}}});
  }
}

Tree<Tensor> FusedQKV::initialize(const random::Key& key) const {
  KeySequence thirds(key);
  const Tree<ParamSpec> specs = param_specs();
  Tree<Values> parts;
  for (int i = 0; i < 3; ++i) {
    KeySequence own(thirds.next());
    for (const Param* p : {&weight_, bias_ ? &*bias_ : nullptr}) {
      if (!p) continue;
      const random::Key key_of_part = own.next();
      if (!specs.contains(p->path())) continue;  // the product holds its values
      ParamSpec third = specs.at(p->path());
      third.shape.erase(third.shape.begin());
      third.fan.batch.clear();
      parts[p->path()].push_back(third.initialiser().draw(key_of_part));
    }
  }
  Tree<Tensor> out;
  for (const auto& [path, values] : parts) out.emplace(path, stack(values));
  out.merge(product_->initialize(thirds.next()));
  return out;
}

QKVTensors FusedQKV::forward(const Tensor& x_BTD, const std::optional<Tensor>&) {
  Tensor y_3BTNH = product_(x_BTD, weight_());
  if (bias_) {
    const Tensor bias = (*bias_)();
    y_3BTNH = y_3BTNH + reshape(bias, {3, 1, 1, bias.dim(1), bias.dim(2)});
  }
  return {index_in_dim(y_3BTNH, 0, 0), index_in_dim(y_3BTNH, 0, 1), index_in_dim(y_3BTNH, 0, 2)};
}

AXLE_REGISTER(FusedQKV)

FusedGroupedQKV::FusedGroupedQKV(const Config& cfg, const Dims& dims, const Scope& scope)
    : QKV(scope),
      num_heads_(dims.num_heads),
      num_kv_heads_(dims.num_kv_heads),
      proj_(child("proj", cfg.proj,
                  {.model_dim = dims.model_dim,
                   .num_heads = saturating_sum(num_heads_, saturating_product(2, num_kv_heads_)),
                   .head_dim = dims.head_dim})) {}

QKVTensors FusedGroupedQKV::forward(const Tensor& x_BTD, const std::optional<Tensor>&) {
  const Values parts = split(proj_(x_BTD), {num_heads_, num_kv_heads_, num_kv_heads_}, 2);
  return {parts[0], parts[1], parts[2]};
}

AXLE_REGISTER(FusedGroupedQKV)

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
