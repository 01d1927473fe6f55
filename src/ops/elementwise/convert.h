// Conversion between element types.
#pragma once

#include <optional>
#include <utility>

#include "ir/hlo_builder.h"
#include "ir/tensor.h"

namespace axle {

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

}  // namespace axle
