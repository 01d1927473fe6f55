// Softmax and sums of exponentials, without overflow.
//
// 16-bit operands are computed in f32 and rounded at the end. Only the result is kept for the
// backward pass (for the sums of exponentials: operand and result).
#pragma once

#include <optional>

#include "ir/tensor.h"

namespace axle {

/// exp(x) / sum(exp(x)) along `axis`, rounded to `result_dtype` (none: as x), in which the backward
/// pass takes it.
Tensor softmax(const Tensor& x, int64_t axis = -1, std::optional<DType> result_dtype = {});
/// log(softmax(x)).
Tensor log_softmax(const Tensor& x, int64_t axis = -1);
/// log(sum(exp(x))) along `axis`, which vanishes unless `keep_dims`; -inf where all x are.
Tensor logsumexp(const Tensor& x, int64_t axis = -1, bool keep_dims = false);
/// log(exp(a) + exp(b)).
Tensor logaddexp(const Tensor& a, const Tensor& b);
/// log(1 + exp(x)).
Tensor softplus(const Tensor& x);

}  // namespace axle
