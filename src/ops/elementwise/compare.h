// Comparison, selection and clamping.
//
// Comparisons return predicates. Shapes broadcast as in arithmetic.h. Tensors have no operators ==
// and !=, since readers could confuse them with same(), which compares handles.
#pragma once

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

/// Returns a where the predicate p is true, else b. A scalar p selects all of a or all of b;
/// otherwise the three shapes broadcast.
Tensor select(const Tensor& p, const Tensor& a, const Tensor& b);
Tensor select(const Tensor& p, const Tensor& a, Scalar b);
Tensor select(const Tensor& p, Scalar a, const Tensor& b);
/// Returns each element of the case that `which` names: cases[which[i]][i]. A predicate names case
/// 0 if false, case 1 if true. An integer below 0 names the first case, a large one the last case.
/// `which` is a scalar or has the shape of the cases.
Tensor select_n(const Tensor& which, const Values& cases);
/// max(low, min(x, high)); the bounds broadcast to the shape of x.
Tensor clamp(const Tensor& low, const Tensor& x, const Tensor& high);
Tensor clamp(Scalar low, const Tensor& x, Scalar high);

/// Returns a predicate that is true where x is NaN.
Tensor is_nan(const Tensor& x);
/// Returns a predicate that is true where x, or a part of a complex x, is infinite. False for
/// dtypes without infinities.
Tensor is_inf(const Tensor& x);
/// Returns the fraction of elements of the predicate that are true: an f32 scalar.
Tensor fraction_of(const Tensor& p);

// Comparisons in the total order of IEEE 754: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN.
//
// Unlike compare.h, every float is ordered, so that a NaN equals itself and -0 is less than 0.
// Shapes broadcast. Other dtypes are compared as in compare.h; complex ones throw ShapeError.

Tensor total_equal(const Tensor& a, const Tensor& b);
Tensor total_less(const Tensor& a, const Tensor& b);
Tensor total_less_equal(const Tensor& a, const Tensor& b);

}  // namespace axle
