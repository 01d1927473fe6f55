// The functions of elementwise ops, products and reductions.
#include "functions/function.h"
#include "ops/ops.h"
#include "transform/kernel/gated_silu.h"

namespace axle {
namespace {

using Unary = Tensor(const Tensor&);
using Binary = Tensor(const Tensor&, const Tensor&);
using WithNumber = Tensor(const Tensor&, Scalar);
using NumberWith = Tensor(Scalar, const Tensor&);

std::vector<Function> arithmetic() {
  return {function("neg: operator-(x)", overload<Unary>(operator-)),
          function("add: operator+(a, b)", overload<Binary>(operator+)),
          function("sub: operator-(a, b)", overload<Binary>(operator-)),
          function("mul: operator*(a, b)", overload<Binary>(operator*)),
          function("div: operator/(a, b)", overload<Binary>(operator/)),
          function("add: operator+(a, b)", overload<WithNumber>(operator+)),
          function("sub: operator-(a, b)", overload<WithNumber>(operator-)),
          function("mul: operator*(a, b)", overload<WithNumber>(operator*)),
          function("div: operator/(a, b)", overload<WithNumber>(operator/)),
          function("add: operator+(a, b)", overload<NumberWith>(operator+)),
          function("sub: operator-(a, b)", overload<NumberWith>(operator-)),
          function("mul: operator*(a, b)", overload<NumberWith>(operator*)),
          function("div: operator/(a, b)", overload<NumberWith>(operator/)),
          function("remainder(a, b)", remainder),
          function("maximum(a, b)", overload<Binary>(maximum)),
          function("maximum(a, b)", overload<WithNumber>(maximum)),
          function("minimum(a, b)", overload<Binary>(minimum)),
          function("minimum(a, b)", overload<WithNumber>(minimum))};
}

std::vector<Function> bitwise() {
  return {
      function("bitwise_and: operator&(a, b)", overload<Binary>(operator&)),
      function("bitwise_or: operator|(a, b)", overload<Binary>(operator|)),
      function("bitwise_xor: operator^(a, b)", overload<Binary>(operator^)),
      function("bitwise_not: operator~(x)", overload<Unary>(operator~)),
      function("logical_not(x)", logical_not),
      function("shift_left(a, bits)", shift_left),
      function("shift_left: operator<<(a, bits)", overload<Tensor(const Tensor&, int)>(operator<<)),
      function("shift_right_logical(a, bits)", shift_right_logical),
      function("shift_right_arithmetic(a, bits)", shift_right_arithmetic),
      function("shift_right: operator>>(a, bits)",
               overload<Tensor(const Tensor&, int)>(operator>>)),
      function("popcount(x)", popcount),
      function("count_leading_zeros(x)", count_leading_zeros)};
}

std::vector<Function> comparison() {
  return {
      function("equal(a, b)", overload<Binary>(equal)),
      function("equal(a, b)", overload<WithNumber>(equal)),
      function("not_equal(a, b)", overload<Binary>(not_equal)),
      function("not_equal(a, b)", overload<WithNumber>(not_equal)),
      function("less(a, b)", less),
      function("less_equal(a, b)", less_equal),
      function("greater(a, b)", greater),
      function("greater_equal(a, b)", greater_equal),
      function("less: operator<(a, b)", overload<Binary>(operator<)),
      function("less_equal: operator<=(a, b)", overload<Binary>(operator<=)),
      function("greater: operator>(a, b)", overload<Binary>(operator>)),
      function("greater_equal: operator>=(a, b)", overload<Binary>(operator>=)),
      function("less: operator<(a, b)", overload<WithNumber>(operator<)),
      function("less_equal: operator<=(a, b)", overload<WithNumber>(operator<=)),
      function("greater: operator>(a, b)", overload<WithNumber>(operator>)),
      function("greater_equal: operator>=(a, b)", overload<WithNumber>(operator>=)),
      function("select(p, a, b)",
               overload<Tensor(const Tensor&, const Tensor&, const Tensor&)>(select)),
      function("select(p, a, b)", overload<Tensor(const Tensor&, const Tensor&, Scalar)>(select)),
      function("select(p, a, b)", overload<Tensor(const Tensor&, Scalar, const Tensor&)>(select)),
      function("select_n(which, cases)", select_n),
      function("clamp(low, x, high)",
               overload<Tensor(const Tensor&, const Tensor&, const Tensor&)>(clamp)),
      function("clamp(low, x, high)", overload<Tensor(Scalar, const Tensor&, Scalar)>(clamp)),
      function("is_nan(x)", is_nan),
      function("is_inf(x)", is_inf),
      function("fraction_of(p)", fraction_of),
      function("total_equal(a, b)", total_equal),
      function("total_less(a, b)", total_less),
      function("total_less_equal(a, b)", total_less_equal)};
}

std::vector<Function> mathematics() {
  return {function("exp(x)", overload<Unary>(exp)),
          function("exp2(x)", overload<Unary>(exp2)),
          function("expm1(x)", overload<Unary>(expm1)),
          function("logistic(x)", overload<Unary>(logistic)),
          function("log(x)", overload<Unary>(log)),
          function("log2(x)", overload<Unary>(log2)),
          function("log1p(x)", overload<Unary>(log1p)),
          function("sqrt(x)", overload<Unary>(sqrt)),
          function("rsqrt(x)", rsqrt),
          function("cbrt(x)", overload<Unary>(cbrt)),
          function("square(x)", square),
          function("pow(x, y)", overload<Binary>(pow)),
          function("integer_pow(x, n)", integer_pow),
          function("lgamma(x)", overload<Unary>(lgamma)),
          function("digamma(x)", digamma),
          function("polygamma(order, x)", polygamma),
          function("sin(x)", overload<Unary>(sin)),
          function("cos(x)", overload<Unary>(cos)),
          function("tan(x)", overload<Unary>(tan)),
          function("atan2(y, x)", overload<Binary>(atan2)),
          function("tanh(x)", overload<Unary>(tanh)),
          function("erf(x)", overload<Unary>(erf)),
          function("erfc(x)", overload<Unary>(erfc)),
          function("erf_inv(x)", erf_inv),
          function("nextafter(from, to)", overload<Binary>(nextafter)),
          function("abs(x)", overload<Unary>(abs)),
          function("sign(x)", sign),
          function("floor(x)", overload<Unary>(floor)),
          function("ceil(x)", overload<Unary>(ceil)),
          function("round_nearest_even(x)", round_nearest_even),
          function("round_nearest_afz(x)", round_nearest_afz),
          function("is_finite(x)", is_finite),
          function("complex(real, imag)", overload<Binary>(complex)),
          function("real(z)", overload<Unary>(real)),
          function("imag(z)", overload<Unary>(imag)),
          function("conj(z)", overload<Unary>(conj))};
}

std::vector<Function> conversion() {
  return {function("astype(x, dtype)", astype),
          function("astype_saturating(x, dtype)", astype_saturating),
          function("quantize(x, scale, dtype)", quantize),
          function("dequantize(x, scale)", dequantize),
          function("bitcast_convert(x, dtype)", bitcast_convert),
          function("reduce_precision(x, exponent_bits, mantissa_bits)", reduce_precision),
          function("promote(a, b)", promote)};
}

const FunctionFamily kArithmetic(arithmetic), kBitwise(bitwise), kComparison(comparison),
    kMathematics(mathematics), kConversion(conversion);

// Rows of ops/products and ops/windows.

// convolution with the names of the dims as texts.
Tensor convolution_by_layout(const Tensor& x, const Tensor& kernel, std::string_view x_layout,
                             std::string_view kernel_layout, std::string_view y_layout,
                             const ConvolutionOptions& options) {
  ConvolutionOptions with_dims = options;
  with_dims.dims = convolution_dims(x_layout, kernel_layout, y_layout);
  return convolution(x, kernel, with_dims);
}

std::vector<Function> products() {
  return {
      function("dot_general(a, b, dims, options)", dot_general),
      function("dot(a, b, options)", dot),
      function("einsum(spec, a, b, options)",
               overload<Tensor(std::string_view, const Tensor&, const Tensor&, const DotOptions&)>(
                   einsum)),
      function("einsum(spec, a)", overload<Tensor(std::string_view, const Tensor&)>(einsum)),
      function("einsum(spec, operands, options)",
               overload<Tensor(std::string_view, const Values&, const DotOptions&)>(einsum)),
      function("contract(a, a_labels, b, b_labels, out, options)", contract),
      function("outer(a, b)", outer),
      function("kron(a, b)", kron),
      function("ragged_dot(lhs, rhs, group_sizes, options)", ragged_dot),
      function("ragged_dot_contracting(lhs, rhs, group_sizes, options)", ragged_dot_contracting),
      function("fft(x, num_dims=1)", fft),
      function("ifft(x, num_dims=1)", ifft),
      function("rfft(x, num_dims=1)", rfft),
      function("irfft(x, size=none, num_dims=1)", irfft),
      function("convolution(x, kernel, options)", convolution),
      function("convolution(x, kernel, x_layout, kernel_layout, y_layout, options)",
               convolution_by_layout)};
}

std::vector<Function> windows() {
  return {function("max_pool(x, options)", max_pool),
          function("min_pool(x, options)", min_pool),
          function("avg_pool(x, options, count=window)", avg_pool),
          function("reduce_window_sum(x, window)", reduce_window_sum),
          function("reduce_window_max(x, window)", reduce_window_max),
          function("reduce_window_min(x, window)", reduce_window_min),
          function("select_and_scatter_add(x, source, window, select)", select_and_scatter_add),
          function("selected_positions(x, window, select)", selected_positions)};
}

const FunctionFamily kProducts(products), kWindows(windows);

// Rows of ops/reductions.

using Axes = std::vector<int64_t>;

std::vector<Function> reductions() {
  return {
      function("reduce_sum(x, axes, keep_dims=false)", reduce_sum),
      function("reduce_sum_in_own_dtype(x, axes)", reduce_sum_in_own_dtype),
      function("reduce_max(x, axes, keep_dims=false)", reduce_max),
      function("reduce_min(x, axes, keep_dims=false)", reduce_min),
      function("reduce_prod(x, axes, keep_dims=false)", reduce_prod),
      function("reduce_and(x, axes, keep_dims=false)", reduce_and),
      function("reduce_or(x, axes, keep_dims=false)", reduce_or),
      function("reduce_xor(x, axes, keep_dims=false)", reduce_xor),
      function("sum(x)", sum),
      function("mean(x)", overload<Tensor(const Tensor&)>(mean)),
      function("mean(x, axes, keep_dims=false)",
               overload<Tensor(const Tensor&, const Axes&, bool)>(mean)),
      function("variance(x, axes, keep_dims=false)", variance),
      function("argmax(x, axis=-1)", argmax),
      function("argmin(x, axis=-1)", argmin),
      function("softmax_cross_entropy(logits, labels)", softmax_cross_entropy),
      function("cumsum(x, axis, reversed=false)", cumsum),
      function("cumprod(x, axis, reversed=false)", cumprod),
      function("cummax(x, axis, reversed=false)", cummax),
      function("cummin(x, axis, reversed=false)", cummin),
      function("cumlogsumexp(x, axis, reversed=false)", cumlogsumexp),
      function("standardize(x, axes=[-1], epsilon=1e-5)", standardize),
      function("l2_normalize(x, axes=[-1], epsilon=1e-12)", l2_normalize),
      function(
          "quantile(x, q, axis=-1, method=linear, keep_dims=false)",
          overload<Tensor(const Tensor&, const Tensor&, int64_t, QuantileMethod, bool)>(quantile)),
      function("quantile(x, q, axis=-1, method=linear, keep_dims=false)",
               overload<Tensor(const Tensor&, double, int64_t, QuantileMethod, bool)>(quantile)),
      function("percentile(x, q, axis=-1, method=linear, keep_dims=false)", percentile),
      function("median(x, axis=-1, keep_dims=false)", median),
      function("softmax(x, axis=-1, result_dtype=none)", softmax),
      function("log_softmax(x, axis=-1)", log_softmax),
      function("logsumexp(x, axis=-1, keep_dims=false)", logsumexp),
      function("logaddexp(a, b)", logaddexp),
      function("softplus(x)", softplus)};
}

const FunctionFamily kReductions(reductions);

// Rows of the activation functions.

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
