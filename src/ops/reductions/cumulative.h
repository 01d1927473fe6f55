// Cumulative reductions, argmax and quantiles.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Returns the index (i32) of the first largest (smallest) element along `axis`, without this axis.
/// If there are NaNs, returns the index of the first NaN.
Tensor argmax(const Tensor& x, int64_t axis = -1);
Tensor argmin(const Tensor& x, int64_t axis = -1);

// Quantiles and the median of floating-point numbers. Each sorts: n log n comparisons.
//
// NaN if any element is NaN. Positions and weights are computed in f32 (f64 for f64).

/// What to return if quantile q, at position q * (n - 1) of the sorted elements, is between two.
enum class QuantileMethod {
  /// The sum of both, weighted by how near they are.
  kLinear,
  kLower,
  kHigher,
  /// Half the sum of both.
  kMidpoint,
  /// The nearer one, the lower one of two that are equally near.
  kNearest,
  /// The first element with at least a fraction q of all elements up to it.
  kInvertedCdf
};

/// Returns the quantiles q, in [0, 1], of x along `axis`, in the dtype of x. q is a scalar or a
/// vector, whose dim comes first in the result; dim `axis` is dropped, or kept with size 1 if
/// `keep_dims`. Throws ShapeError if x or q is not floating-point or dim `axis` is empty.
Tensor quantile(const Tensor& x, const Tensor& q, int64_t axis = -1,
                QuantileMethod method = QuantileMethod::kLinear, bool keep_dims = false);
Tensor quantile(const Tensor& x, double q, int64_t axis = -1,
                QuantileMethod method = QuantileMethod::kLinear, bool keep_dims = false);
/// quantile(q / 100).
Tensor percentile(const Tensor& x, const Tensor& q, int64_t axis = -1,
                  QuantileMethod method = QuantileMethod::kLinear, bool keep_dims = false);
/// The middle element along `axis`, or half the sum of the middle two.
Tensor median(const Tensor& x, int64_t axis = -1, bool keep_dims = false);

/// y[i] = x[0] + ... + x[i]; the other functions replace the sum by their own operation. bf16 is
/// computed in f32, except for maxima and minima.
Tensor cumsum(const Tensor& x, int64_t axis, bool reversed = false);
Tensor cumprod(const Tensor& x, int64_t axis, bool reversed = false);
Tensor cummax(const Tensor& x, int64_t axis, bool reversed = false);
Tensor cummin(const Tensor& x, int64_t axis, bool reversed = false);
/// log(exp(x[0]) + ... + exp(x[i])).
Tensor cumlogsumexp(const Tensor& x, int64_t axis, bool reversed = false);

}  // namespace axle
