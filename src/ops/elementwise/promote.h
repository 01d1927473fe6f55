// Promotion of two dtypes to a common one, for code ported from JAX.
//
// Axle's ops never promote: their operands have one dtype, and C++ numbers take the dtype beside
// them. promote converts both operands first, as jax.numpy does with 64-bit dtypes enabled.
//
// Source: JAX's "Type promotion semantics".
#pragma once

#include <optional>
#include <utility>

#include "ir/tensor.h"

namespace axle {

/// Returns the dtype that jax.numpy.promote_types gives, or none where it refuses: 4-bit integers
/// and 8-bit floats promote to no other number. An integer and a float give the float, even if it
/// is small.
std::optional<DType> promoted_dtype(DType a, DType b);
/// Converts both to their promoted dtype. Shapes do not change. Throws ShapeError if there is none.
std::pair<Tensor, Tensor> promote(const Tensor& a, const Tensor& b);

}  // namespace axle
