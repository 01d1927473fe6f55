// Contraction of labelled dims by dot_general. einsum and the gradient of dot_general build on it.
#pragma once

#include <vector>

#include "ops/products/dot.h"

namespace axle {

/// One label for each dim. Dims with the same label correspond to each other, as letters in einsum.
using Labels = std::vector<int>;

/// Returns the product of `a` and `b` with dims in the order of `out`. Labels that are not in `out`
/// are summed over. Every label of `out` must be in an operand, and no operand may repeat a label.
/// Swaps the operands if that avoids a transpose of the result.
Tensor contract(const Tensor& a, const Labels& a_labels, const Tensor& b, const Labels& b_labels,
                const Labels& out, const DotOptions& options);

}  // namespace axle
