#include "layers/head_projection.h"

#include "config/register.h"
#include "layers/mesh_axes.h"
#include "ops/arithmetic.h"
#include "ops/dot.h"

namespace axle {
namespace {

ParamSpec weight_spec(const HeadDims& dims, FanAxes fan) {
  return {.shape = {dims.model_dim, dims.num_heads, dims.head_dim},
          .mesh_axes = {kModelDimAxes, kShardAxes, kReplicated},
          .fan = std::move(fan)};
}

}  // namespace

HeadInputLinear::HeadInputLinear(const Config& cfg, const Dims& dims, const Scope& scope)
    : HeadInput(scope), weight_(param("weight", weight_spec(dims, {.in = {-3}, .out = {-2, -1}}))) {
  if (cfg.bias) {
    bias_ = param("bias", {.shape = {dims.num_heads, dims.head_dim},
                           .mesh_axes = {kShardAxes, kReplicated},
                           .init = Zeros{}});
  }
}

Tensor HeadInputLinear::forward(const Tensor& x_BTD) {
  const Tensor y_BTNH = einsum("btd,dnh->btnh", x_BTD, weight_());
  return bias_ ? y_BTNH + (*bias_)() : y_BTNH;
}

HeadOutputLinear::HeadOutputLinear(const Config& cfg, const Dims& dims, const Scope& scope)
    : HeadOutput(scope),
      weight_(param("weight", weight_spec(dims, {.in = {-2, -1}, .out = {-3}}))) {
  if (cfg.bias)
    bias_ =
        param("bias", {.shape = {dims.model_dim}, .mesh_axes = {kModelDimAxes}, .init = Zeros{}});
}

Tensor HeadOutputLinear::forward(const Tensor& x_BTNH) {
  const Tensor y_BTD = einsum("btnh,dnh->btd", x_BTNH, weight_());
  return bias_ ? y_BTD + (*bias_)() : y_BTD;
}

AXLE_REGISTER(HeadDims)
AXLE_REGISTER(HeadInputLinear)
AXLE_REGISTER(HeadOutputLinear)

}  // namespace axle
