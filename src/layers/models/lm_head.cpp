#include "layers/models/lm_head.h"

#include "config/register.h"

namespace axle {

LmHead::LmHead(const Config& cfg, const Dims& dims, const Scope& scope)
    : Projection(scope),
      weight_(param("weight", {.shape = {dims.output_dim, dims.input_dim},
                               .mesh_axes = {dims.output_axes, dims.input_axes},
                               .fan = {.in = {-1}, .out = {-2}}})),
      product_(child("product", cfg.product, product_dims("...d,vd->...v", *this, weight_))) {}

Tensor LmHead::forward(const Tensor& x) { return product_(x, weight_()); }

AXLE_REGISTER(LmHead)

}  // namespace axle
