// Reading and writing at computed positions.
//
// Indices may have any integer dtype. An index outside the tensor is never an error: unless stated
// otherwise it is clamped to the nearest one inside. Negative indices count from the end only
// after from_end().
#pragma once

#include <optional>

#include "ir/tensor.h"
#include "ops/movement/dynamic_slice.h"
#include "ops/movement/gather.h"
#include "ops/movement/scatter.h"

namespace axle {

/// Returns the slices of x at `indices` along `axis`. The dims of `indices` replace dim `axis`. An
/// embedding lookup is take(weight, ids, 0).
Tensor take(const Tensor& x, const Tensor& indices, int64_t axis = 0,
            const GatherOptions& options = {});
/// y[.., i, ..] = x[.., indices[.., i, ..], ..]. `indices` has the shape of x except along `axis`.
Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis = -1,
                       const GatherOptions& options = {});
/// Returns the indices with `size` added to negative ones, so that these count from the end of a
/// dim of this size. With GatherMode::kFill, take(x, from_end(indices, size)) is JAX's jnp.take.
Tensor from_end(const Tensor& indices, int64_t size);

/// Each of these returns x with its slices at `indices` along `axis` combined with `updates`, which
/// have the shape that take would return. Ops and gradients are as in scatter.h; updates at
/// indices outside x are dropped by default.
Tensor add_at(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis = 0,
              const ScatterOptions& options = {});
Tensor multiply_at(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis = 0,
                   const ScatterOptions& options = {});
Tensor min_at(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis = 0,
              const ScatterOptions& options = {});
Tensor max_at(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis = 0,
              const ScatterOptions& options = {});
/// Indices must be distinct.
Tensor set_at(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis = 0,
              const ScatterOptions& options = {});
/// Returns x with updates[.., i, ..] added at [.., indices[.., i, ..], ..]: the transpose of
/// take_along_axis. Updates at indices outside x are dropped by default.
Tensor add_along_axis(const Tensor& x, const Tensor& indices, const Tensor& updates,
                      int64_t axis = -1, const ScatterOptions& options = {});
/// Like add_along_axis, but replaces elements. The indices along each line must be distinct.
Tensor set_along_axis(const Tensor& x, const Tensor& indices, const Tensor& updates,
                      int64_t axis = -1, const ScatterOptions& options = {});
/// Returns rows of x by batch: y[b.., i.., d..] = x[b.., indices[b.., i..], d..]. The first
/// `num_batch_dims` dims of x and of the indices are equal.
Tensor batched_take(const Tensor& x, const Tensor& indices, int64_t num_batch_dims = 1);
/// Returns x with the rows of each batch element overwritten from its own start:
/// y[b, starts[b] + t, d..] = updates[b, t, d..]. Updates that reach beyond x are dropped.
///
/// Shapes: x[B, S, ..], starts[B], updates[B, T, ..] -> y[B, S, ..].
Tensor batched_put_rows(const Tensor& x, const Tensor& starts, const Tensor& updates);
/// Adds a last dim of size n that is 1 at each index and 0 elsewhere. For an index outside [0, n)
/// it is all zeros.
Tensor one_hot(const Tensor& indices, int64_t n, DType dtype = DType::kF32);

// Counting, and selecting a number of elements that depends on the data: results have a fixed size,
// which `size` sets. Surplus elements are cut off; missing ones are filled.

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

// Search in sorted vectors and in sets. NaN counts as the largest value and -0 equals 0, as in
// sort.h.

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
