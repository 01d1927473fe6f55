// Search in sorted vectors and in sets. NaN counts as the largest value and -0 equals 0, as in
// sort.h.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Whether a value equal to elements of the vector goes before or after them.
enum class SearchSide { kLeft, kRight };
/// Returns, for each element of `values`, the position (i32) at which it keeps the ascending vector
/// `sorted` in order. A binary search of log2(n) gathers, without a loop.
///
/// Shapes: sorted[N], values[..] of its dtype -> y[..] in [0, N].
Tensor searchsorted(const Tensor& sorted, const Tensor& values,
                    SearchSide side = SearchSide::kLeft);
/// Returns the bin (i32) of each element of x. `edges` ascend or descend. Bin i holds
/// edges[i - 1] <= x < edges[i] if they ascend, edges[i - 1] > x >= edges[i] if they descend; the
/// edge belongs to the other bin if `closed` is kRight.
Tensor digitize(const Tensor& x, const Tensor& edges, SearchSide closed = SearchSide::kLeft);
/// Returns a predicate of the shape of x: true for elements that are equal to one of `set`. It
/// compares all pairs.
Tensor isin(const Tensor& x, const Tensor& set);

}  // namespace axle
