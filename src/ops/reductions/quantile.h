// Quantiles and the median of floating-point numbers. Each sorts: n log n comparisons.
//
// NaN if any element is NaN. Positions and weights are computed in f32 (f64 for f64).
#pragma once

#include "ir/tensor.h"

namespace axle {

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

}  // namespace axle
