// Cumulative sums, products, maxima and minima along an axis. If `reversed`, they start at the end.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// y[i] = x[0] + ... + x[i]; the other functions replace the sum by their own operation. bf16 is
/// computed in f32, except for maxima and minima.
Tensor cumsum(const Tensor& x, int64_t axis, bool reversed = false);
Tensor cumprod(const Tensor& x, int64_t axis, bool reversed = false);
Tensor cummax(const Tensor& x, int64_t axis, bool reversed = false);
Tensor cummin(const Tensor& x, int64_t axis, bool reversed = false);
/// log(exp(x[0]) + ... + exp(x[i])).
Tensor cumlogsumexp(const Tensor& x, int64_t axis, bool reversed = false);

}  // namespace axle
