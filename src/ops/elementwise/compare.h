// Comparison, choice and clamping.
//
// Comparisons give predicates; shapes broadcast as in arithmetic.h. There are no operators == and
// != on tensors: they would read like same(), which compares handles.
#pragma once

#include "ir/scalar.h"
#include "ir/tensor.h"

namespace axle {

Tensor equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);
Tensor equal(const Tensor& a, Scalar b);
Tensor not_equal(const Tensor& a, Scalar b);
Tensor operator<(const Tensor& a, const Tensor& b);
Tensor operator<=(const Tensor& a, const Tensor& b);
Tensor operator>(const Tensor& a, const Tensor& b);
Tensor operator>=(const Tensor& a, const Tensor& b);
Tensor operator<(const Tensor& a, Scalar b);
Tensor operator<=(const Tensor& a, Scalar b);
Tensor operator>(const Tensor& a, Scalar b);
Tensor operator>=(const Tensor& a, Scalar b);

/// a where the predicate p holds, else b. A scalar p chooses the whole; otherwise the three shapes
/// broadcast.
Tensor select(const Tensor& p, const Tensor& a, const Tensor& b);
Tensor select(const Tensor& p, const Tensor& a, Scalar b);
Tensor select(const Tensor& p, Scalar a, const Tensor& b);
/// max(low, min(x, high)); the bounds broadcast to the shape of x.
Tensor clamp(const Tensor& low, const Tensor& x, const Tensor& high);
Tensor clamp(Scalar low, const Tensor& x, Scalar high);

/// A predicate.
Tensor is_nan(const Tensor& x);
/// Mean of a predicate: a scalar, f32.
Tensor fraction_of(const Tensor& p);

}  // namespace axle
