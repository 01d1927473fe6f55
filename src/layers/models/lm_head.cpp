#include "layers/models/lm_head.h"

#include "config/register.h"
#include "ops/products/dot.h"
#include "ops/products/einsum.h"

namespace axle {

LmHead::LmHead(const Config&, const Dims& dims, const Scope& scope)
    : Projection(scope),
      weight_(param("weight", {.shape = {dims.output_dim, dims.input_dim},
                               .mesh_axes = {dims.output_axes, dims.input_axes},
                               .fan = {.in = {-1}, .out = {-2}}})) {}

Tensor LmHead::forward(const Tensor& x) { return einsum("...d,vd->...v", x, weight_()); }

AXLE_REGISTER(LmHead)

}  // namespace axle
