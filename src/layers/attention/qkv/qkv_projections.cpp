#include "layers/attention/qkv/qkv_projections.h"

#include <fmt/format.h>

#include "base/lists.h"
#include "config/register.h"
#include "layers/mesh_axes.h"
#include "nn/invocation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

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

}  // namespace axle
