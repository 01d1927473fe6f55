// Products of every element of one tensor with every element of another.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// a[N], b[M] -> y[N, M] = a[n] * b[m].
Tensor outer(const Tensor& a, const Tensor& b);
/// The Kronecker product of matrices: a[R, C], b[S, D] -> y[R * S, C * D].
Tensor kron(const Tensor& a, const Tensor& b);

}  // namespace axle
