// Running sums, products and maxima along an axis; from the end if `reversed`.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// y[i] = x[0] + ... + x[i]; the others alike. bf16 sums and products run in f32.
Tensor cumsum(const Tensor& x, int64_t axis, bool reversed = false);
Tensor cumprod(const Tensor& x, int64_t axis, bool reversed = false);
Tensor cummax(const Tensor& x, int64_t axis, bool reversed = false);
Tensor cummin(const Tensor& x, int64_t axis, bool reversed = false);
/// log(exp(x[0]) + ... + exp(x[i])).
Tensor cumlogsumexp(const Tensor& x, int64_t axis, bool reversed = false);

}  // namespace axle
