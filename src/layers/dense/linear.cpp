#include "layers/dense/linear.h"

#include "config/register.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reductions/reductions.h"

namespace axle {

AXLE_REGISTER(Projection::Dims)

template class LayerRole<Projection, Projection::Signature>;

Linear::Linear(const Config& cfg, const Dims& dims, const Scope& scope)
    : Projection(scope),
      weight_(param("weight", {.shape = {dims.input_dim, dims.output_dim},
                               .mesh_axes = {dims.input_axes, dims.output_axes}})),
      product_(child("product", cfg.product, product_dims("...i,io->...o", *this, weight_))) {
  if (cfg.bias) {
    bias_ = param("bias",
                  {.shape = {dims.output_dim}, .mesh_axes = {dims.output_axes}, .init = Zeros{}});
  }
}

Tensor Linear::forward(const Tensor& x) {
  const Tensor y = product_(x, weight_());
  return bias_ ? y + (*bias_)() : y;
}

AXLE_REGISTER(Linear)

void MultiProjection::check_result(const Tensor& y, const Tensor& x) const {
  if (!given_dims()) return;
  Type expected = x.type();
  expected.dims.back() = given_dims()->num_outputs;
  expected.dims.push_back(given_dims()->output_dim);
  expect_result(y, expected);
}

AXLE_REGISTER(MultiProjection::Dims)

template class LayerRole<MultiProjection, MultiProjection::Signature>;

MultiLinear::MultiLinear(const Config& cfg, const Dims& dims, const Scope& scope)
    : MultiProjection(scope),
      weight_(param("weight", {.shape = {dims.input_dim, dims.num_outputs, dims.output_dim},
                               .mesh_axes = {dims.input_axes, kReplicated, dims.output_axes},
                               .fan = {.in = {-3}, .out = {-2, -1}}})),
      product_(child("product", cfg.product, product_dims("...i,ino->...no", *this, weight_))) {
  if (cfg.bias) {
    bias_ = param("bias", {.shape = {dims.num_outputs, dims.output_dim},
                           .mesh_axes = {kReplicated, dims.output_axes},
                           .init = Zeros{}});
  }
}

Tensor MultiLinear::forward(const Tensor& x) {
  const Tensor y = product_(x, weight_());
  return bias_ ? y + (*bias_)() : y;
}

AXLE_REGISTER(MultiLinear)

UnitNormLinear::UnitNormLinear(const Config& cfg, const Dims& dims, const Scope& scope)
    : Projection(scope),
      weight_(param("weight", {.shape = {dims.input_dim, dims.output_dim},
                               .mesh_axes = {dims.input_axes, dims.output_axes}})),
      product_(child("product", cfg.product,
                     product_dims("...i,io->...o", *this, weight_, WeightUse::kOthersToo))) {
  if (cfg.bias) {
    bias_ = param("bias",
                  {.shape = {dims.output_dim}, .mesh_axes = {dims.output_axes}, .init = Zeros{}});
  }
}

Tensor UnitNormLinear::forward(const Tensor& x) {
  const Tensor weight = weight_();
  const Tensor wide = astype(weight, wide_dtype(weight.dtype()));
  const Tensor unit = wide * rsqrt(reduce_sum(wide * wide, {0}, true) + 1e-8);
  const Tensor y = product_(x, astype(unit, weight.dtype()));
  return bias_ ? y + (*bias_)() : y;
}

AXLE_REGISTER(UnitNormLinear)

}  // namespace axle
