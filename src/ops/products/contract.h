// The common core of einsum and of the gradient of a product: dims are named by labels, dot_general
// does the work.
#pragma once

#include <vector>

#include "ops/products/dot.h"

namespace axle {

/// A label for each dim; equal labels are equal dims.
using Labels = std::vector<int>;

/// The product of `a` and `b` with dims in the order of `out`: labels that `out` lacks are summed
/// over. Every label of `out` is in an operand, none is repeated in one. Takes the operands in the
/// order that needs no transpose of the result, where there is one.
Tensor contract(const Tensor& a, const Labels& a_labels, const Tensor& b, const Labels& b_labels,
                const Labels& out, const DotOptions& options);

}  // namespace axle
