#include <fmt/format.h>

#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/reductions/reductions.h"
#include "ops/rules.h"

namespace axle {
namespace {

constexpr CostRule kActivationCost{12};
constexpr double kSqrt2OverPi = 0.79788456080286535588;
constexpr double kCubic = 0.044715;
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kQuick = 1.702;

Values relu_formula(const OpNode&, const Values& x) { return {maximum(x[0], 0)}; }

const OpRules relu_rules({.name = "relu",
                          .infer = same_float_type,
                          .batch = elementwise,
                          .vjp = [](X, Y y, Ct g) { return Values{select(y[0] > 0, g[0], 0)}; },
                          .eval = eval_composite<relu_formula>,
                          .hlo = hlo_composite<relu_formula>,
                          .cost = kElementwise});

// The vjp of x * logistic(k * x).
Values swish_vjp(const Tensor& x, double k, const Tensor& g) {
  const Tensor s = logistic(k == 1 ? x : k * x);
  const Tensor inner = (x * g) * (s * (1 - s));
  return {g * s + (k == 1 ? inner : k * inner)};
}

Values silu_formula(const OpNode&, const Values& x) { return {x[0] * logistic(x[0])}; }
Values quick_gelu_formula(const OpNode&, const Values& x) {
  return {x[0] * logistic(kQuick * x[0])};
}

const OpRules silu_rules({.name = "silu",
                          .infer = same_float_type,
                          .batch = elementwise,
                          .vjp = [](X x, Y, Ct g) { return swish_vjp(x[0], 1, g[0]); },
                          .eval = eval_composite<silu_formula>,
                          .hlo = hlo_composite<silu_formula>,
                          .cost = kActivationCost});

const OpRules quick_gelu_rules({.name = "quick_gelu",
                                .infer = same_float_type,
                                .batch = elementwise,
                                .vjp = [](X x, Y, Ct g) { return swish_vjp(x[0], kQuick, g[0]); },
                                .eval = eval_composite<quick_gelu_formula>,
                                .hlo = hlo_composite<quick_gelu_formula>,
                                .cost = kActivationCost});

Tensor gelu_tanh(const Tensor& x) { return tanh(kSqrt2OverPi * (x + kCubic * integer_pow(x, 3))); }
Values gelu_formula(const OpNode&, const Values& x) {
  return {x[0] * (0.5 * (1 + gelu_tanh(x[0])))};
}

const OpRules gelu_rules({.name = "gelu",
                          .infer = same_float_type,
                          .batch = elementwise,
                          .vjp =
                              [](X in, Y, Ct g) {
                                const Tensor &x = in[0], t = gelu_tanh(x);
                                const Tensor slope =
                                    (1 - square(t)) * (kSqrt2OverPi * (1 + 3 * kCubic * square(x)));
                                return Values{g[0] * (0.5 * (1 + t)) + (x * g[0]) * (0.5 * slope)};
                              },
                          .eval = eval_composite<gelu_formula>,
                          .hlo = hlo_composite<gelu_formula>,
                          .cost = kActivationCost});

Values exact_gelu_formula(const OpNode&, const Values& x) {
  return {0.5 * x[0] * erfc(-x[0] * kSqrtHalf)};
}

const OpRules exact_gelu_rules({.name = "exact_gelu",
                                .infer = same_float_type,
                                .batch = elementwise,
                                .vjp =
                                    [](X in, Y, Ct g) {
                                      const Tensor& x = in[0];
                                      const Tensor density =
                                          kSqrt2OverPi / 2 * exp(-0.5 * square(x));
                                      return Values{g[0] *
                                                    (0.5 * erfc(-x * kSqrtHalf) + x * density)};
                                    },
                                .eval = eval_composite<exact_gelu_formula>,
                                .hlo = hlo_composite<exact_gelu_formula>,
                                .cost = kActivationCost});

}  // namespace

Tensor relu(const Tensor& x) { return emit(relu_rules, {x}); }
Tensor squared_relu(const Tensor& x) { return square(relu(x)); }
Tensor silu(const Tensor& x) { return emit(silu_rules, {x}); }
Tensor gelu(const Tensor& x) { return emit(gelu_rules, {x}); }
Tensor exact_gelu(const Tensor& x) { return emit(exact_gelu_rules, {x}); }
Tensor quick_gelu(const Tensor& x) { return emit(quick_gelu_rules, {x}); }
Tensor sigmoid(const Tensor& x) { return logistic(x); }
Tensor log_sigmoid(const Tensor& x) { return -softplus(-x); }
Tensor soft_cap(const Tensor& x, double cap) { return cap * tanh(x / cap); }
Tensor soft_sign(const Tensor& x) { return x / (abs(x) + 1); }
Tensor squareplus(const Tensor& x, double b) { return (x + sqrt(square(x) + b)) / 2; }
Tensor mish(const Tensor& x) { return x * tanh(softplus(x)); }

Tensor glu(const Tensor& x, int64_t axis) {
  const int64_t dim = normalized_axis("glu", x, axis), half = x.dim(dim) / 2;
  if (x.dim(dim) % 2 != 0)
    shape_error("glu", fmt::format("expected an even size, got {}", x.dim(dim)), {x});
  return slice_in_dim(x, dim, 0, half) * logistic(slice_in_dim(x, dim, half, 2 * half));
}

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
