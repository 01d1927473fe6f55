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
/// Returns x with zeros above the diagonal of the last two dims; above the k-th one to the right of
/// it if k > 0, to the left if k < 0.
Tensor tril(const Tensor& x, int64_t k = 0);
/// Returns x with zeros below this diagonal.
Tensor triu(const Tensor& x, int64_t k = 0);
/// Returns the diagonal of the last two dims, which have one size.
Tensor diagonal(const Tensor& x);
/// Returns the matrix of size [rows, columns] that is 1 on its diagonal and 0 elsewhere.
Tensor identity(int64_t rows, int64_t columns, DType dtype = DType::kF32);
/// Returns (x + x^T) / 2.
Tensor symmetrized(const Tensor& x);

}  // namespace axle
