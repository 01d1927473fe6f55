// Reductions. The reduced dims are dropped, or kept with size 1 if `keep_dims`.
//
// Sums, products and means of bf16 are computed in f32 and rounded once at the end; maxima and
// minima are not. For the position of the largest element see cumulative.h.
#pragma once

#include "ir/tensor.h"

namespace axle {

Tensor reduce_sum(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);
/// Sums in the dtype of x, also for bf16. Use it if each device holds one element of the dims: the
/// sum is then an all-reduce, and bf16 halves its bytes.
Tensor reduce_sum_in_own_dtype(const Tensor& x, const std::vector<int64_t>& axes);
/// NaN if any element is NaN. Equal largest elements share the gradient.
Tensor reduce_max(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);
Tensor reduce_min(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);
Tensor reduce_prod(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);
/// For predicates, true if all (any, an odd number of) elements are true. For integers, the bitwise
/// and (or, exclusive or).
Tensor reduce_and(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);
Tensor reduce_or(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);
Tensor reduce_xor(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);

/// Sum over all elements: a scalar.
Tensor sum(const Tensor& x);
/// Means and variances of integers and predicates are f32, for 64-bit integers f64, as in JAX.
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);
/// mean(|x - mean(x)|^2), in two passes. Real for complex numbers.
Tensor variance(const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);

/// {0, 1, ..., rank - 1}.
std::vector<int64_t> all_axes(const Tensor& x);

}  // namespace axle
