// Softmax and sums of exponentials, without overflow.
//
// Functions of 16-bit operands are computed in f32 and rounded at the end. The backward pass keeps
// only the result; for the sums of exponentials it keeps the operand and the result.
#pragma once

#include <optional>
#include <vector>

#include "ir/tensor.h"

namespace axle {

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
