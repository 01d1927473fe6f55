// Reductions: dims vanish, or stay with size 1 if `keep_dims`.
//
// Sums, products and means of bf16 are computed in f32 and rounded once at the end; maxima are not.
// Where the largest element is: argmax.h.
#pragma once

#include "ir/tensor.h"

namespace axle {

Tensor reduce_sum(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);
/// bf16 is summed in bf16: for dims of which each device has one element, so that devices exchange
/// that dtype.
Tensor reduce_sum_in_own_dtype(const Tensor& x, const std::vector<int64_t>& axes);
/// Equal largest elements share the gradient; NaN if any element is.
Tensor reduce_max(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);
Tensor reduce_min(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);
Tensor reduce_prod(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);
/// Of predicates: whether all (any) hold; of integers: bit by bit.
Tensor reduce_and(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);
Tensor reduce_or(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);

/// Over all elements: a scalar.
Tensor sum(const Tensor& x);
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);
/// mean((x - mean(x))^2), in two passes.
Tensor variance(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);

/// {0, 1, ..., rank - 1}.
std::vector<int64_t> all_axes(const Tensor& x);

}  // namespace axle
