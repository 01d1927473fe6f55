// Parts that the matrix decompositions share.
//
// A decomposition is one op with a vjp of its own. Its formula is a loop of other ops over one
// matrix, so that every backend has it. The products of f32 matrices have full precision.
#pragma once

#include "ir/op_rules.h"
#include "transform/trace.h"

namespace axle {

/// Throws ShapeError unless operand i of the op is a stack of f32 or f64 matrices of at least one
/// element: [.., m, n].
void check_matrices(const OpNode& op, size_t i = 0);
/// check_matrices, and m = n.
void check_square_matrices(const OpNode& op, size_t i = 0);

/// Throws ShapeError, naming `op`, unless x is a stack of square matrices.
void check_square_operand(std::string_view op, const Tensor& x);

/// Calls fn with each matrix of stacks that have the same leading dims, and stacks the results.
Values each_matrix(const TensorFunction& fn, const Values& stacks);

/// Returns the product of the matrices in the last two dims.
Tensor matmul(const Tensor& a, const Tensor& b);
/// Swaps the last two dims.
Tensor transposed(const Tensor& x);
/// Returns (x + x^T) / 2.
Tensor symmetrized(const Tensor& x);

}  // namespace axle
