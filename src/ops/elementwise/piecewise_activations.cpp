#include "ops/elementwise/piecewise_activations.h"

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exponential.h"

namespace axle {

Tensor leaky_relu(const Tensor& x, double negative_slope) {
  return select(x >= 0, x, negative_slope * x);
}

Tensor relu6(const Tensor& x) { return clamp(0, x, 6); }

// The inner select keeps exp from an overflow whose gradient would be NaN.
Tensor elu(const Tensor& x, double alpha) {
  const Tensor is_positive = x > 0;
  return select(is_positive, x, alpha * expm1(select(is_positive, 0, x)));
}

Tensor celu(const Tensor& x, double alpha) {
  return maximum(x, 0) + alpha * expm1(minimum(x, 0) / alpha);
}

Tensor selu(const Tensor& x) {
  constexpr double kAlpha = 1.6732632423543772848, kScale = 1.0507009873554804934;
  return kScale * elu(x, kAlpha);
}

Tensor hard_tanh(const Tensor& x) { return select(x > 1, 1, select(x < -1, -1, x)); }

Tensor hard_sigmoid(const Tensor& x) { return relu6(x + 3) / 6; }

Tensor hard_silu(const Tensor& x) { return x * hard_sigmoid(x); }

Tensor sparse_plus(const Tensor& x) {
  return select(x <= -1, 0, select(x >= 1, x, square(x + 1) / 4));
}

Tensor sparse_sigmoid(const Tensor& x) { return 0.5 * minimum(maximum(x + 1, 0), 2); }

}  // namespace axle
