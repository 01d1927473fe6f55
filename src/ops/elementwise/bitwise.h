// Bits of integers and logic of predicates.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Of integers bit by bit, of predicates as logic; shapes broadcast.
Tensor operator&(const Tensor& a, const Tensor& b);
Tensor operator|(const Tensor& a, const Tensor& b);
Tensor operator^(const Tensor& a, const Tensor& b);
/// Complement of all bits; of a predicate: not.
Tensor operator~(const Tensor& x);
/// Of a predicate: not. Throws ShapeError for other dtypes.
Tensor operator!(const Tensor& x);

/// Shifts by as many bits as the integer has, or more, give 0 (all sign bits if arithmetic).
Tensor shift_left(const Tensor& a, const Tensor& bits);
Tensor shift_right_logical(const Tensor& a, const Tensor& bits);
Tensor shift_right_arithmetic(const Tensor& a, const Tensor& bits);
Tensor operator<<(const Tensor& a, int bits);
/// Logical for unsigned integers, arithmetic for signed ones, as in C++.
Tensor operator>>(const Tensor& a, int bits);
/// Number of ones.
Tensor popcount(const Tensor& x);
Tensor count_leading_zeros(const Tensor& x);

}  // namespace axle
