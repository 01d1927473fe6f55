// Reductions, cumulative reductions, argmax, quantiles, softmax.
#pragma once

#include <optional>
#include <vector>

#include "ir/tensor.h"

namespace axle {

// Reductions. The reduced dims are dropped, or kept with size 1 if `keep_dims`.
//
// Sums, products and means of bf16 are computed in f32 and rounded once at the end; maxima and
// minima are not. For the position of the largest element see argmax.

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

// Cumulative reductions, argmax and quantiles.

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

// Softmax and sums of exponentials, without overflow.
//
// Functions of 16-bit operands are computed in f32 and rounded at the end. The backward pass keeps
// only the result; for the sums of exponentials it keeps the operand and the result.

/// exp(x) / sum(exp(x)) along `axis`, rounded to `result_dtype` (none: the dtype of x). The
/// backward pass uses the rounded result.
Tensor softmax(const Tensor& x, int64_t axis = -1, std::optional<DType> result_dtype = {});
/// log(softmax(x)).
Tensor log_softmax(const Tensor& x, int64_t axis = -1);
/// log(sum(exp(x))) along `axis`, which is dropped unless `keep_dims`. -inf if all x are -inf.
Tensor logsumexp(const Tensor& x, int64_t axis = -1, bool keep_dims = false);
/// log(exp(a) + exp(b)).
Tensor logaddexp(const Tensor& a, const Tensor& b);
/// log(1 + exp(x)).
Tensor softplus(const Tensor& x);

struct CrossEntropy {
  /// -log(softmax(logits)[label]).
  Tensor loss;
  /// log(sum(exp(logits))).
  Tensor log_z;
};

/// logits f32|bf16 [..., V], labels integers [...] -> loss and log_z f32 [...].
///
/// Exponentials and sums are f32. The backward pass keeps only logits, labels and log_z. A label
/// outside [0, V) means "no label": its loss is log_z.
CrossEntropy softmax_cross_entropy(const Tensor& logits, const Tensor& labels);

// Normalization of tensors, without parameters. Layers with a scale and a bias are in layers/.
//
// 16-bit operands are computed in f32 and rounded once at the end.

/// (x - mean) / sqrt(variance + epsilon) over `axes`, with the variance in two passes, as
/// jax.nn.standardize(algorithm="stable"). Shapes: x f.. -> the same type.
Tensor standardize(const Tensor& x, const std::vector<int64_t>& axes = {-1}, double epsilon = 1e-5);
/// x / sqrt(max(sum(x^2), epsilon)) over `axes`: length 1 unless x is nearly zero. The gradient at
/// zero is finite.
Tensor l2_normalize(const Tensor& x, const std::vector<int64_t>& axes = {-1},
                    double epsilon = 1e-12);

}  // namespace axle
