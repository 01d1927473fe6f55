// Rows of the activation functions.
#include "functions/function.h"
#include "ops/ops.h"
#include "transform/kernel/gated_silu.h"

namespace axle {
namespace {

std::vector<Function> activation_rows() {
  return {function("relu(x)", relu),
          function("squared_relu(x)", squared_relu),
          function("silu(x)", silu),
          function("gated_silu(gate, x, options)", gated_silu),
          function("gelu(x)", gelu),
          function("exact_gelu(x)", exact_gelu),
          function("quick_gelu(x)", quick_gelu),
          function("sigmoid(x)", sigmoid),
          function("log_sigmoid(x)", log_sigmoid),
          function("soft_cap(x, cap)", soft_cap),
          function("soft_sign(x)", soft_sign),
          function("squareplus(x, b=4)", squareplus),
          function("mish(x)", mish),
          function("glu(x, axis=-1)", glu),
          function("leaky_relu(x, negative_slope=0.01)", leaky_relu),
          function("relu6(x)", relu6),
          function("elu(x, alpha=1)", elu),
          function("celu(x, alpha=1)", celu),
          function("selu(x)", selu),
          function("hard_tanh(x)", hard_tanh),
          function("hard_sigmoid(x)", hard_sigmoid),
          function("hard_silu(x)", hard_silu),
          function("sparse_plus(x)", sparse_plus),
          function("sparse_sigmoid(x)", sparse_sigmoid)};
}

const FunctionFamily kActivations(activation_rows);

}  // namespace
}  // namespace axle
