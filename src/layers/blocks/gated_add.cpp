#include "layers/blocks/gated_add.h"

#include "config/register.h"
#include "ops/elementwise/activations.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/convert.h"

namespace axle {

GatedAdd::GatedAdd(const Config& cfg, const Dims&, const Scope& scope)
    : Join(scope), gate_(param("gate", {.shape = {}, .init = Constant{cfg.initial}})) {}

Tensor GatedAdd::forward(const Tensor& x_BTD, const Tensor& y_BTD) {
  const Tensor open = sigmoid(gate_());
  add_summary("gate", astype(open, DType::kF32));
  return x_BTD + open * y_BTD;
}

AXLE_REGISTER(GatedAdd)

}  // namespace axle
