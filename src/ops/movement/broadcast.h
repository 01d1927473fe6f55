// Broadcasting.
#pragma once

#include <utility>

#include "ir/tensor.h"

namespace axle {

/// Dim i of x becomes dim dims[i] of the result; a dim of size 1 is repeated, dims not named are
/// new.
Tensor broadcast_in_dim(const Tensor& x, const Shape& shape, const std::vector<int64_t>& dims);
/// numpy's rule: x's dims are aligned with the last dims of `shape`. Throws ShapeError.
Tensor broadcast_to(const Tensor& x, const Shape& shape);
/// Both operands broadcast to their common shape, for the binary op `op`. Throws ShapeError naming
/// both.
std::pair<Tensor, Tensor> broadcast_together(const Tensor& a, const Tensor& b, std::string_view op);
/// Emits the binary op with both operands broadcast to their common shape.
Tensor emit_broadcast(const OpRules& rules, const Tensor& a, const Tensor& b);

}  // namespace axle
