// Contractions by labelled dims: einsum, and contract, which einsum and the gradient of dot_general
// build on.
#pragma once

#include <string_view>
#include <vector>

#include "ir/tensor.h"
#include "ops/products/dot.h"

namespace axle {

/// einsum("btd,dnh->btnh", a, b): each letter names a dim. Letters that are not in the result are
/// summed over. A letter that occurs twice in one operand stands for the diagonal of these dims:
/// einsum("ii->i", a). Without "->" the result has the dims of "...", then the letters that occur
/// once, in the order of ASCII: "ij,jk" is "ij,jk->ik", "ii" is the trace.
///
/// "..." stands for any number of dims. The "..." dims of several operands are aligned from the
/// last one on, and a size of 1 is broadcast. If the result has no "...", they are summed over. The
/// sizes of a letter must be equal. Throws ShapeError if the operands do not fit the spec.
Tensor einsum(std::string_view spec, const Tensor& a, const Tensor& b,
              const DotOptions& options = {});
/// einsum("bts->bst", a): sums and transposes one operand.
Tensor einsum(std::string_view spec, const Tensor& a);
/// einsum("ij,jk,kl->il", {a, b, c}): the products of any number of operands, two at a time, in the
/// order of the fewest multiplications (of up to 8 operands; of more, the next best pair each
/// time). Products between have the dtype of the result if it is the wider one.
Tensor einsum(std::string_view spec, const Values& operands, const DotOptions& options = {});

/// Returns the shape of the result of einsum(). Throws ShapeError if the operands do not fit the
/// spec.
Shape einsum_shape(std::string_view spec, const Values& operands);

/// One label for each dim. Dims with the same label correspond to each other, as letters in einsum.
using Labels = std::vector<int>;

/// Returns the product of `a` and `b` with dims in the order of `out`. Labels that are not in `out`
/// are summed over. Every label of `out` must be in an operand, and no operand may repeat a label.
/// Swaps the operands if that avoids a transpose of the result.
Tensor contract(const Tensor& a, const Labels& a_labels, const Tensor& b, const Labels& b_labels,
                const Labels& out, const DotOptions& options);

/// a[N], b[M] -> y[N, M] = a[n] * b[m].
Tensor outer(const Tensor& a, const Tensor& b);
/// The Kronecker product of matrices: a[R, C], b[S, D] -> y[R * S, C * D].
Tensor kron(const Tensor& a, const Tensor& b);

}  // namespace axle
