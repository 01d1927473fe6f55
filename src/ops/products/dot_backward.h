// The operands of the backward products of dot_general and ragged_dot.
#pragma once

#include "ir/op_rules.h"
#include "ops/elementwise/elementwise.h"
#include "ops/products/products.h"
#include "ops/products/scaled_integers.h"

namespace axle {

struct BackwardOperands {
  Tensor a, b, cotangent;
  DotOptions options;
};

/// Converts the cotangent `g` to the dtype of the operands x[0] and x[1]. It would lose too much in
/// 8 bits: so 8-bit operands are converted to its dtype instead. The backward products of these
/// have no algorithm, since the one in the options is for 8-bit operands.
/// Backward products of integers have the algorithm only if it says so.
inline BackwardOperands backward_operands(X x, const Tensor& g, DotOptions options) {
  if (has_integers(options.algorithm)) {
    options.algorithm = options.algorithm == DotAlgorithm::kI8I8I32Backward
                            ? DotAlgorithm::kI8I8I32
                            : DotAlgorithm::kDefault;
  }
  const DType dtype = x[0].dtype();
  if (!is_float(dtype) || size_bytes(dtype) > 1) return {x[0], x[1], astype(g, dtype), options};
  const DType wide = size_bytes(g.dtype()) > 1 ? g.dtype() : wide_dtype(dtype);
  return {
      astype(x[0], wide), astype(x[1], wide), astype(g, wide), {.precision = options.precision}};
}

}  // namespace axle
