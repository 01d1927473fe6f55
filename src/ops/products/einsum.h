// Contractions by labelled dims: einsum, and contract, which einsum and the gradient of dot_general
// build on.
#pragma once

#include <string_view>
#include <vector>

#include "ops/products/dot.h"

namespace axle {

/// einsum("btd,dnh->btnh", a, b): each letter names a dim. Letters that are not in the result are
/// summed over. "..." stands for any number of dims. No letter may occur twice in one operand.
/// Throws ShapeError if the operands do not fit the spec.
Tensor einsum(std::string_view spec, const Tensor& a, const Tensor& b,
              const DotOptions& options = {});
/// einsum("bts->bst", a): sums and transposes one operand.
Tensor einsum(std::string_view spec, const Tensor& a);

/// One label for each dim. Dims with the same label correspond to each other, as letters in einsum.
using Labels = std::vector<int>;

/// Returns the product of `a` and `b` with dims in the order of `out`. Labels that are not in `out`
/// are summed over. Every label of `out` must be in an operand, and no operand may repeat a label.
/// Swaps the operands if that avoids a transpose of the result.
Tensor contract(const Tensor& a, const Labels& a_labels, const Tensor& b, const Labels& b_labels,
                const Labels& out, const DotOptions& options);

}  // namespace axle
