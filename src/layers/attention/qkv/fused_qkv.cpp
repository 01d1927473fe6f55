#include "layers/attention/qkv/fused_qkv.h"

#include <fmt/format.h>

#include "config/register.h"
#include "layers/mesh_axes.h"
#include "nn/key_sequence.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

namespace axle {

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

}  // namespace axle
