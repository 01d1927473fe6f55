// Discrete Fourier transforms of the last dims.
//
// Over one dim of size n, with w = exp(-2 pi i / n): y[k] = sum_j x[j] * w^(j k). The inverse has
// w^(-j k) and divides by n. Several dims are transformed one after the other.
#pragma once

#include <optional>

#include "ir/tensor.h"

namespace axle {

/// Transforms the last `num_dims` (1, 2 or 3) dims of a complex tensor.
///
/// Shapes: x[.., n] c64|c128 -> [.., n], dtype of x. Throws ShapeError for other dtypes, and if x
/// has fewer dims.
Tensor fft(const Tensor& x, int64_t num_dims = 1);
/// The inverse of fft.
Tensor ifft(const Tensor& x, int64_t num_dims = 1);
/// fft of real numbers, without the second half of the last dim, which is the conjugate of the
/// first. To transform more samples than x has, pad x with zeros.
///
/// Shapes: x[.., n] f32|f64 -> [.., n / 2 + 1] c64|c128. Throws ShapeError as fft does.
Tensor rfft(const Tensor& x, int64_t num_dims = 1);
/// The inverse of rfft: real numbers, `size` of them along the last dim; none: 2 * (m - 1). The
/// imaginary part of the first element of a line has no influence, nor has that of the last one if
/// `size` is even.
///
/// Shapes: x[.., m] c64|c128 -> [.., size] f32|f64. Throws ShapeError as fft does, and unless
/// m = size / 2 + 1.
Tensor irfft(const Tensor& x, std::optional<int64_t> size = {}, int64_t num_dims = 1);

}  // namespace axle
