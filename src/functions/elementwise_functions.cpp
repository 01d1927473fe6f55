// Rows of ops/elementwise.
#include "functions/function.h"
#include "ops/ops.h"

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

}  // namespace
}  // namespace axle
