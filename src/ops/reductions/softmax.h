// Softmax and sums of exponentials, without overflow.
//
// Functions of 16-bit operands are computed in f32 and rounded at the end. The backward pass keeps
// only the result; for the sums of exponentials it keeps the operand and the result.
#pragma once

#include <optional>

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

}  // namespace axle
