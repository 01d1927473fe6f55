#include "layers/feed_forward/activation.h"

#include "config/register.h"
#include "ops/elementwise/trigonometry.h"

namespace axle {

Tensor linear(const Tensor& x) { return x; }

AXLE_REGISTER(silu, "silu")
AXLE_REGISTER(gelu, "gelu")
AXLE_REGISTER(exact_gelu, "exact_gelu")
AXLE_REGISTER(quick_gelu, "quick_gelu")
AXLE_REGISTER(relu, "relu")
AXLE_REGISTER(squared_relu, "squared_relu")
AXLE_REGISTER(sigmoid, "sigmoid")
AXLE_REGISTER(tanh, "tanh")
AXLE_REGISTER(linear, "linear")

}  // namespace axle
