// Branches: a program that computes one of several functions.
#pragma once

#include <vector>

#include "transform/trace.h"

namespace axle {

/// Computes branches[index](arguments). `index` is an i32 scalar; one outside of the branches is
/// clamped. All branches return tensors of the same types. They may use outer tensors.
///
/// When it is differentiated, each branch keeps its own residuals. Under vmap with a batched index,
/// all branches are computed and the results selected.
/// Throws ShapeError if there is no branch, or if the types of their results differ.
Values switch_case(const Tensor& index, const std::vector<TensorFunction>& branches,
                   const Values& arguments);

/// Computes if_true(arguments) or if_false(arguments). `predicate` is a pred scalar.
Values cond(const Tensor& predicate, const TensorFunction& if_true, const TensorFunction& if_false,
            const Values& arguments);

}  // namespace axle
