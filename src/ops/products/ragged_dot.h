// Products of the rows of a matrix with one matrix for each group of consecutive rows, as in a
// mixture of experts whose tokens are sorted by expert.
//
// Group g is made of the group_sizes[g] rows after the rows of the groups before it. Rows past the
// last group belong to none. Rows that the sizes count past the last row do not exist.
// A negative size counts as 0.
//
// Letters in shapes: m rows, k and n columns, g groups, b an optional batch.
#pragma once

#include "ir/tensor.h"
#include "ops/products/dot.h"

namespace axle {

/// Multiplies each row of lhs by the matrix of its group. Rows of no group become zero.
///
/// Shapes: lhs [b, m, k], rhs [g, k, n] or [b, g, k, n], group_sizes [b, g] i32 -> [b, m, n]. Each
/// b may be absent, but lhs and group_sizes have it together. lhs and rhs are floats of one dtype.
/// Throws ShapeError.
Tensor ragged_dot(const Tensor& lhs, const Tensor& rhs, const Tensor& group_sizes,
                  const DotOptions& options = {});

/// Returns for each group the product lhs^T rhs over its rows; zeros for an empty group.
///
/// Shapes: lhs [b, m, k], rhs [b, m, n], group_sizes [b, g] i32 -> [b, g, k, n]. All or none have
/// the b. lhs and rhs are floats of one dtype. Throws ShapeError.
Tensor ragged_dot_contracting(const Tensor& lhs, const Tensor& rhs, const Tensor& group_sizes,
                              const DotOptions& options = {});

}  // namespace axle
