// Elementwise functions: arithmetic, comparison and selection, conversion, exponentials, rounding,
// special functions, activations.
#pragma once

#include <optional>
#include <utility>

#include "ir/hlo_builder.h"
#include "ir/tensor.h"

namespace axle {

// Arithmetic on tensors.
//
// Both operands must have the same dtype. Shapes broadcast as in numpy: dims of size 1, and missing
// leading dims. A C++ number is converted to the dtype of the tensor operand; ShapeError is thrown
// if an integer dtype cannot represent it. Integer division and remainder truncate towards zero.

Tensor operator-(const Tensor& x);
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, Scalar b);
Tensor operator-(const Tensor& a, Scalar b);
Tensor operator*(const Tensor& a, Scalar b);
Tensor operator/(const Tensor& a, Scalar b);
Tensor operator+(Scalar a, const Tensor& b);
Tensor operator-(Scalar a, const Tensor& b);
Tensor operator*(Scalar a, const Tensor& b);
Tensor operator/(Scalar a, const Tensor& b);
/// Has the sign of the dividend, like C's fmod and %.
Tensor remainder(const Tensor& a, const Tensor& b);
/// NaN if either operand is NaN. Equal operands share the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, Scalar b);
Tensor minimum(const Tensor& a, Scalar b);

/// Bitwise on integers, logical on predicates. Shapes broadcast.
Tensor operator&(const Tensor& a, const Tensor& b);
Tensor operator|(const Tensor& a, const Tensor& b);
Tensor operator^(const Tensor& a, const Tensor& b);
/// Bitwise complement of integers, logical not of predicates.
Tensor operator~(const Tensor& x);
/// Logical not of a predicate. Throws ShapeError for other dtypes.
Tensor logical_not(const Tensor& x);

/// Shifts. If `bits` is at least the width of the integer, the result is 0; an arithmetic right
/// shift then shifts in copies of the sign bit.
Tensor shift_left(const Tensor& a, const Tensor& bits);
Tensor shift_right_logical(const Tensor& a, const Tensor& bits);
Tensor shift_right_arithmetic(const Tensor& a, const Tensor& bits);
Tensor operator<<(const Tensor& a, int bits);
/// Logical for unsigned integers, arithmetic for signed ones, as in C++.
Tensor operator>>(const Tensor& a, int bits);
/// Number of bits that are 1.
Tensor popcount(const Tensor& x);
Tensor count_leading_zeros(const Tensor& x);

// Comparison, selection and clamping.
//
// Comparisons return predicates. Shapes broadcast as in arithmetic. Tensors have no operators ==
// and !=, since readers could confuse them with same(), which compares handles.

Tensor equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);
Tensor equal(const Tensor& a, Scalar b);
Tensor not_equal(const Tensor& a, Scalar b);
Tensor operator<(const Tensor& a, const Tensor& b);
Tensor operator<=(const Tensor& a, const Tensor& b);
Tensor operator>(const Tensor& a, const Tensor& b);
Tensor operator>=(const Tensor& a, const Tensor& b);
Tensor operator<(const Tensor& a, Scalar b);
Tensor operator<=(const Tensor& a, Scalar b);
Tensor operator>(const Tensor& a, Scalar b);
Tensor operator>=(const Tensor& a, Scalar b);

/// Returns a where the predicate p is true, else b. A scalar p selects all of a or all of b;
/// otherwise the three shapes broadcast.
Tensor select(const Tensor& p, const Tensor& a, const Tensor& b);
Tensor select(const Tensor& p, const Tensor& a, Scalar b);
Tensor select(const Tensor& p, Scalar a, const Tensor& b);
/// Returns each element of the case that `which` names: cases[which[i]][i]. A predicate names case
/// 0 if false, case 1 if true. An integer below 0 names the first case, a large one the last case.
/// `which` is a scalar or has the shape of the cases.
Tensor select_n(const Tensor& which, const Values& cases);
/// max(low, min(x, high)); the bounds broadcast to the shape of x.
Tensor clamp(const Tensor& low, const Tensor& x, const Tensor& high);
Tensor clamp(Scalar low, const Tensor& x, Scalar high);

/// Returns a predicate that is true where x is NaN.
Tensor is_nan(const Tensor& x);
/// Returns a predicate that is true where x, or a part of a complex x, is infinite. False for
/// dtypes without infinities.
Tensor is_inf(const Tensor& x);
/// Returns the fraction of elements of the predicate that are true: an f32 scalar.
Tensor fraction_of(const Tensor& p);

// Comparisons in the total order of IEEE 754: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN.
//
// Every float is ordered: a NaN equals itself and -0 is less than 0. Shapes broadcast. Other dtypes
// are compared as by less() and its siblings; complex ones throw ShapeError.

Tensor total_equal(const Tensor& a, const Tensor& b);
Tensor total_less(const Tensor& a, const Tensor& b);
Tensor total_less_equal(const Tensor& a, const Tensor& b);

// Conversion between element types.

/// Converts the values to `dtype`; returns x if it has this dtype. Floats are truncated to
/// integers. Conversion to pred means `!= 0`.
Tensor astype(const Tensor& x, DType dtype);
/// astype of floats, with numbers beyond the finite range of `dtype`, infinities too, replaced by
/// its largest or least number: f8e4m3fn ends at 448, f8e5m2 at 57344. NaN stays NaN. The gradient
/// of replaced numbers is zero. Throws ShapeError if x or `dtype` is no float.
Tensor astype_saturating(const Tensor& x, DType dtype);
/// Returns the largest finite number of a float dtype.
double largest_number(DType dtype);
/// Returns astype_saturating(x / scale, dtype): numbers to multiply in 8 bits. `scale` is a scalar
/// or broadcasts to x, and has the dtype of x.
Tensor quantize(const Tensor& x, const Tensor& scale, DType dtype);
/// Returns x * scale in the dtype of `scale`: undoes quantize up to its rounding.
Tensor dequantize(const Tensor& x, const Tensor& scale);
/// Reinterprets the bits of x as `dtype`. A narrower dtype adds a last dim for the parts of each
/// element, low bits first. A wider dtype consumes the last dim. 4-bit integers have four bits:
/// u8[n] becomes u4[n, 2]. Throws ShapeError for predicates and complex numbers, and if the last
/// dim does not fit.
Tensor bitcast_convert(const Tensor& x, DType dtype);
/// Rounds x to the precision of a float with these numbers of bits and keeps the dtype of x. (8, 7)
/// rounds to bf16. Throws ShapeError unless there are 1 to 11 exponent bits and 0 to 52 mantissa
/// bits.
Tensor reduce_precision(const Tensor& x, int exponent_bits, int mantissa_bits);

// Promotion of two dtypes to a common one, for code ported from JAX.
//
// Axle's ops never promote: their operands have one dtype, and C++ numbers take the dtype beside
// them. promote converts both operands first, as jax.numpy does with 64-bit dtypes enabled.
//
// Source: JAX's "Type promotion semantics".

/// Returns the dtype that jax.numpy.promote_types returns, or none where it refuses: 4-bit integers
/// and 8-bit floats promote to no other number. An integer and a float yield the float, even if it
/// is small.
std::optional<DType> promoted_dtype(DType a, DType b);
/// Converts both to their promoted dtype. Shapes do not change. Throws ShapeError if there is none.
std::pair<Tensor, Tensor> promote(const Tensor& a, const Tensor& b);

// Exponentials, logarithms, roots and powers; circular and hyperbolic functions.

Tensor exp(const Tensor& x);
Tensor exp2(const Tensor& x);
/// exp(x) - 1, without cancellation near 0.
Tensor expm1(const Tensor& x);
/// 1 / (1 + exp(-x)).
Tensor logistic(const Tensor& x);
Tensor log(const Tensor& x);
/// log(x) / log(2), so powers of two need not have whole results: an ulp is possible.
Tensor log2(const Tensor& x);
/// log(1 + x), accurate for x near 0.
Tensor log1p(const Tensor& x);
Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x).
Tensor rsqrt(const Tensor& x);
Tensor cbrt(const Tensor& x);
Tensor square(const Tensor& x);
/// x^y of floats. NaN if x is negative and y is not an integer.
Tensor pow(const Tensor& x, const Tensor& y);
/// x^n by repeated squaring. Throws ShapeError for integers to a negative power.
Tensor integer_pow(const Tensor& x, int64_t n);

Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
/// The angle of the point (x, y), in (-pi, pi].
Tensor atan2(const Tensor& y, const Tensor& x);
Tensor tanh(const Tensor& x);

// Complex numbers: their parts, and how to make them.
//
// A complex tensor is c64 (parts of f32) or c128 (parts of f64). Cotangents are JAX's: with g that
// of a complex tensor, the derivative in direction v is the real part of sum(g * v), without
// conjugation. So the direction of steepest ascent of a real function is conj(g).

/// Returns real + i * imag. Both operands are f32 or both f64; shapes broadcast. Throws ShapeError
/// for other dtypes.
Tensor complex(const Tensor& real, const Tensor& imag);
/// Returns the real part, as f32 or f64. Throws ShapeError if z is not complex.
Tensor real(const Tensor& z);
/// Returns the imaginary part, as f32 or f64. Throws ShapeError if z is not complex.
Tensor imag(const Tensor& z);
/// Returns real(z) - i * imag(z). Throws ShapeError if z is not complex.
Tensor conj(const Tensor& z);

// Magnitude, sign and rounding.

/// For complex numbers: a real tensor of their magnitudes, whose gradient is 0 at 0.
Tensor abs(const Tensor& x);
/// -1, 0 or 1. Returns -0 for -0 and NaN for NaN.
Tensor sign(const Tensor& x);
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
/// Rounds to the nearest integer, halves to the even neighbour.
Tensor round_nearest_even(const Tensor& x);
/// Rounds to the nearest integer, halves away from zero.
Tensor round_nearest_afz(const Tensor& x);
/// Returns a predicate that is true where x is neither infinite nor NaN.
Tensor is_finite(const Tensor& x);
/// True for `is_finite` ops.
bool is_finite_check(const OpNode& op);

/// Returns the next number of the dtype from `from` towards `to`; `to` if they are equal. Shapes
/// broadcast. Floats of 16 bits or more; others throw ShapeError. It has no gradient.
Tensor nextafter(const Tensor& from, const Tensor& to);

// The error function, its complement and inverse; the logarithm of the gamma function and its
// derivatives.

Tensor erf(const Tensor& x);
/// 1 - erf(x), without cancellation where erf(x) is near 1.
Tensor erfc(const Tensor& x);
/// The inverse of erf on (-1, 1). Infinite at -1 and 1, NaN outside. The f32 result is within 4 ulp
/// of XLA's.
Tensor erf_inv(const Tensor& x);

/// log |Gamma(x)|. Infinite at 0, -1, -2, ...
Tensor lgamma(const Tensor& x);
/// The derivative of lgamma. -inf at 0, NaN at -1, -2, ...
Tensor digamma(const Tensor& x);
/// The derivative of digamma of the given order, 1 or more, for x > 0. NaN for other x.
Tensor polygamma(int64_t order, const Tensor& x);

// Activation functions. Those with an op of their own keep only x for the backward pass (relu: only
// the result) and recompute all other values; the others are formulas.

/// max(x, 0); the derivative at 0 is 0.
Tensor relu(const Tensor& x);
/// relu(x)^2.
Tensor squared_relu(const Tensor& x);
/// x * logistic(x), also called swish.
Tensor silu(const Tensor& x);
/// The tanh approximation: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
Tensor gelu(const Tensor& x);
/// x * P(Z <= x) for a standard normal Z.
Tensor exact_gelu(const Tensor& x);
/// x * logistic(1.702 * x).
Tensor quick_gelu(const Tensor& x);
/// 1 / (1 + exp(-x)), the same as logistic.
Tensor sigmoid(const Tensor& x);
/// log(logistic(x)), without overflow.
Tensor log_sigmoid(const Tensor& x);
/// cap * tanh(x / cap): close to x where |x| is much less than cap, and never beyond cap.
Tensor soft_cap(const Tensor& x, double cap);
/// x / (|x| + 1).
Tensor soft_sign(const Tensor& x);
/// (x + sqrt(x^2 + b)) / 2.
Tensor squareplus(const Tensor& x, double b = 4);
/// x * tanh(softplus(x)).
Tensor mish(const Tensor& x);
/// The first half of x along `axis` times the logistic of the second half. Throws ShapeError if the
/// size is odd.
Tensor glu(const Tensor& x, int64_t axis = -1);

// Activation functions of several pieces, as in jax.nn. Their gradients at the kinks are the same
// as in JAX.

/// x where x >= 0, else negative_slope * x.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
/// min(max(x, 0), 6); the derivative at 0 and 6 is 0.
Tensor relu6(const Tensor& x);
/// x where x > 0, else alpha * (exp(x) - 1).
Tensor elu(const Tensor& x, double alpha = 1);
/// x where x > 0, else alpha * (exp(x / alpha) - 1), which has a continuous derivative.
Tensor celu(const Tensor& x, double alpha = 1);
/// elu with the scales of self-normalizing networks (Klambauer et al. 2017, arXiv 1706.02515).
Tensor selu(const Tensor& x);
/// x between -1 and 1, else the nearest of both.
Tensor hard_tanh(const Tensor& x);
/// relu6(x + 3) / 6.
Tensor hard_sigmoid(const Tensor& x);
/// x * hard_sigmoid(x), also called hard swish.
Tensor hard_silu(const Tensor& x);
/// 0 where x <= -1, x where x >= 1, else (x + 1)^2 / 4.
Tensor sparse_plus(const Tensor& x);
/// min(max(x + 1, 0), 2) / 2: the derivative of sparse_plus.
Tensor sparse_sigmoid(const Tensor& x);

}  // namespace axle
