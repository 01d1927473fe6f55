// Counting, and selecting a number of elements that depends on the data: results have a fixed size,
// which `size` gives. Surplus elements are cut off; missing ones are filled.
#pragma once

#include <optional>

#include "ir/scalar.h"
#include "ir/tensor.h"

namespace axle {

/// Returns how often each number of 0 .. length - 1 occurs in the integers x: i32 [length].
/// Negative numbers count as 0; larger ones are ignored.
Tensor bincount(const Tensor& x, int64_t length);
/// Sums the weights of each number of 0 .. length - 1 instead, in the dtype of the weights.
Tensor bincount(const Tensor& x, const Tensor& weights, int64_t length);

/// Returns the positions of the elements that are not 0, in row-major order: for each dim of x, an
/// i32 vector of `size` indices. Missing ones are `fill`.
Values nonzero(const Tensor& x, int64_t size, int64_t fill = 0);

struct Unique {
  /// The different elements in ascending order [size]. Missing ones are the least element, or the
  /// fill value. All NaNs count as one element.
  Tensor values;
  /// Where each first occurs in the flattened x: i32 [size].
  Tensor first_indices;
  /// For each element of x, its position among the different elements: i32, shape of x.
  Tensor inverse;
  /// How often each occurs: i32 [size]; 0 for missing ones.
  Tensor counts;
};
/// Throws ShapeError if x is empty. Sorts: n log n comparisons.
Unique unique(const Tensor& x, int64_t size, std::optional<Scalar> fill = {});

}  // namespace axle
