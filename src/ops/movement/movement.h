// Functions that move elements: shapes, slices, computed positions, gather and scatter, sorting.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ir/tensor.h"

namespace axle {

// Ops that rearrange the elements of a tensor.

/// One dim may be -1: its size is inferred. Throws ShapeError if the numbers of elements differ.
Tensor reshape(const Tensor& x, Shape shape);
/// Dim i of the result is dim perm[i] of x.
Tensor transpose(const Tensor& x, const std::vector<int64_t>& perm);
Tensor swap_axes(const Tensor& x, int64_t a, int64_t b);
/// Moves axis `from` to position `to`. The other axes keep their order.
Tensor move_axis(const Tensor& x, int64_t from, int64_t to);
/// Drops `axes`, which must have size 1.
Tensor squeeze(const Tensor& x, const std::vector<int64_t>& axes);
/// Inserts a dim of size 1 that becomes dim `axis` of the result.
Tensor expand_dims(const Tensor& x, int64_t axis);
/// Merges dims first..last (inclusive) into one. Negative dims count from the end.
Tensor flatten(const Tensor& x, int64_t first = 0, int64_t last = -1);
/// Splits dim `axis` into dims of these sizes. One size may be -1: it is inferred.
Tensor unflatten(const Tensor& x, int64_t axis, const Shape& sizes);
/// Reverses the order of elements along `axes`.
Tensor reverse(const Tensor& x, const std::vector<int64_t>& axes);

/// Broadcasts x to `shape`. Dim i of x becomes dim dims[i] of the result. Dims of size 1 are
/// repeated. Dims of the result that are not in `dims` are new.
Tensor broadcast_in_dim(const Tensor& x, const Shape& shape, const std::vector<int64_t>& dims);
/// Broadcasts x to `shape` by numpy's rule: dims are aligned at the last dim. Throws ShapeError if
/// the shapes do not fit.
Tensor broadcast_to(const Tensor& x, const Shape& shape);
/// Returns both operands of the binary op `op`, broadcast to their common shape. Throws ShapeError
/// that names both shapes.
std::pair<Tensor, Tensor> broadcast_together(const Tensor& a, const Tensor& b,
                                             std::string_view op = "broadcast_together");
/// Which dim of the grid the first coordinate runs along: dim 0 for kMatrix ("ij"), dim 1 for
/// kCartesian ("xy"), which swaps the first two dims.
enum class GridOrder { kCartesian, kMatrix };
/// Returns the coordinates of all points of a grid: one tensor of the shape of the grid for each of
/// the vectors `axes`.
Values meshgrid(const Values& axes, GridOrder order = GridOrder::kCartesian);
/// Emits the binary op with both operands broadcast to their common shape.
Tensor emit_broadcast(const OpRules& rules, const Tensor& a, const Tensor& b);

// Slices, padding and concatenation at positions known while tracing.

/// Returns the elements starts[d], starts[d] + strides[d], ... below limits[d] of every dim d.
/// Empty `strides` means all 1.
Tensor slice(const Tensor& x, const Shape& starts, const Shape& limits, const Shape& strides = {});
/// slice along one axis. Negative positions count from the end.
Tensor slice_in_dim(const Tensor& x, int64_t axis, int64_t start, int64_t limit,
                    int64_t stride = 1);
/// Returns x[.., i, ..] without dim `axis`. Negative i counts from the end.
Tensor index_in_dim(const Tensor& x, int64_t axis, int64_t i);
/// Pads each dim with the scalar `value`: low[d] elements before, high[d] after, and interior[d]
/// between neighbouring elements. Negative low and high cut elements off.
Tensor pad(const Tensor& x, const Tensor& value, const Shape& low, const Shape& high,
           const Shape& interior = {});
Tensor pad(const Tensor& x, Scalar value, const Shape& low, const Shape& high,
           const Shape& interior = {});
/// Pads one axis with `value`.
Tensor pad_in_dim(const Tensor& x, int64_t axis, int64_t low, int64_t high, Scalar value = 0);

/// Joins tensors along an existing axis.
Tensor concatenate(const Values& parts, int64_t axis);
/// Joins tensors of one shape along a new axis.
Tensor stack(const Values& parts, int64_t axis = 0);
/// Splits x along `axis` into parts of these sizes. Throws ShapeError if the sizes do not add up to
/// the dim.
Values split(const Tensor& x, const Shape& sizes, int64_t axis);
/// Splits x along `axis` into `count` parts of one size. Throws ShapeError if `count` does not
/// divide the dim.
Values split_equally(const Tensor& x, int64_t count, int64_t axis);
/// Moves the elements along `axis` by `shift` positions towards the end; those that leave the end
/// come back at the start.
Tensor roll(const Tensor& x, int64_t shift, int64_t axis);
/// Repeats the whole tensor repeats[d] times along each dim d.
Tensor tile(const Tensor& x, const Shape& repeats);
/// Repeats each element along `axis` `count` times in a row.
Tensor repeat(const Tensor& x, int64_t count, int64_t axis);

// Slices at computed positions. A slice that would reach outside the tensor is moved inside.

/// Returns the slice of shape `sizes` that starts at `starts`, one integer scalar for each dim.
Tensor dynamic_slice(const Tensor& x, const Values& starts, const Shape& sizes);
/// Returns x with `update` written at `starts`.
Tensor dynamic_update_slice(const Tensor& x, const Tensor& update, const Values& starts);
/// dynamic_slice of `size` elements along one dim.
Tensor dynamic_slice_in_dim(const Tensor& x, const Tensor& start, int64_t size, int64_t axis = 0);
/// Returns x[.., index, ..] without dim `axis`.
Tensor dynamic_index_in_dim(const Tensor& x, const Tensor& index, int64_t axis = 0);
/// dynamic_update_slice along one dim.
Tensor dynamic_update_slice_in_dim(const Tensor& x, const Tensor& update, const Tensor& start,
                                   int64_t axis = 0);
/// Returns x with x[.., index, ..] replaced by `update`. `update` has the shape of x without dim
/// `axis`.
Tensor dynamic_update_index_in_dim(const Tensor& x, const Tensor& update, const Tensor& index,
                                   int64_t axis = 0);

/// Moves the elements along `axis` by `shift` positions towards the end, in a circle. `shift` is an
/// integer scalar.
Tensor dynamic_roll(const Tensor& x, const Tensor& shift, int64_t axis = 0);

// Diagonals and triangles of matrices.
//
// `offset` chooses a diagonal: element [i, i + offset]. 0 is the main one, positive ones are above.
// Leading dims are batch dims.

/// Returns a matrix that is 1 on a diagonal and 0 elsewhere.
Tensor eye(int64_t rows, int64_t columns, int64_t offset = 0, DType dtype = DType::kF32);
/// Returns a matrix that is 1 on and below a diagonal and 0 above.
Tensor tri(int64_t rows, int64_t columns, int64_t offset = 0, DType dtype = DType::kF32);
/// Returns x with zeros above (tril) or below (triu) a diagonal of its last two dims.
Tensor tril(const Tensor& x, int64_t offset = 0);
Tensor triu(const Tensor& x, int64_t offset = 0);
/// Returns a diagonal of the last two dims: x[.., R, C] -> y[.., N]. N is 0 for a diagonal outside.
Tensor diagonal(const Tensor& x, int64_t offset = 0);
/// Returns square matrices with the last dim of x on a diagonal and 0 elsewhere:
/// x[.., N] -> y[.., N + |offset|, N + |offset|].
Tensor diagonal_matrix(const Tensor& x, int64_t offset = 0);
/// Sums a diagonal of the last two dims: x[.., R, C] -> y[..].
Tensor matrix_trace(const Tensor& x, int64_t offset = 0);

// General gather as defined by StableHLO: it reads windows of an operand at computed positions.
//
// Layer code should use the simpler functions below: take, batched_take and their siblings.

/// The dimension numbers of gather and scatter. "Slices" are the result of gather and the updates
/// of scatter.
struct GatherDims {
  /// Dims of the slices that run within a window. The other dims run over the positions.
  std::vector<int64_t> offset = {};
  /// Dims of the operand where the window has size 1. The slices do not have these dims.
  std::vector<int64_t> collapsed = {};
  /// Batch dims: operand_batch[i] of the operand pairs with indices_batch[i] of the indices.
  std::vector<int64_t> operand_batch = {}, indices_batch = {};
  /// For each component of a position, the operand dim that it indexes.
  std::vector<int64_t> index_map = {};
  /// Dim of the indices that holds the components of a position. If it equals the rank of the
  /// indices, each index is a position of one component.
  int64_t index_vector_dim = 0;
};

/// What gather does with a window that reaches outside the operand.
enum class GatherMode {
  /// Moves it inside. The gradient goes to the moved window.
  kClip,
  /// Returns a fill value for all its elements. The gradient is zero.
  kFill,
  /// The caller promises that there is none: its result and its gradient are undefined.
  kPromiseInBounds
};

struct GatherOptions {
  GatherMode mode = GatherMode::kClip;
  /// The value of windows outside. None: NaN for floats, the least value for signed integers, the
  /// largest one for unsigned integers, true for predicates.
  std::optional<Scalar> fill = {};
  /// Promises that speed up the program; a broken one makes elements undefined. The positions
  /// ascend in lexicographic order; no two windows overlap (after they were moved inside).
  bool indices_are_sorted = false, unique_indices = false;
};

/// Returns the window of shape `sizes` at each position. Indices may have any integer dtype.
/// Throws ShapeError if the dimension numbers do not fit the shapes.
Tensor gather(const Tensor& operand, const Tensor& indices, const GatherDims& dims,
              const Shape& sizes, const GatherOptions& options = {});

// General scatter as defined by StableHLO: it combines updates with windows of an operand at
// computed positions.
//
// Layer code should use the simpler functions below: take, batched_take and their siblings.

/// What scatter does with a window that reaches outside the operand.
enum class ScatterMode {
  /// Drops its update, whose gradient is zero.
  kDrop,
  /// Moves it inside.
  kClip,
  /// The caller promises that there is none: the gradient of its update is undefined.
  kPromiseInBounds
};

struct ScatterOptions {
  ScatterMode mode = ScatterMode::kDrop;
  /// Promises that speed up the program; a broken one makes elements undefined. The positions
  /// ascend in lexicographic order; no two windows overlap (after they were moved inside).
  bool indices_are_sorted = false, unique_indices = false;
};

/// Each function returns the operand with the updates combined with its windows. Updates have the
/// dtype of the operand and the shape that gather would return. Throws ShapeError if the dimension
/// numbers do not fit the shapes.
///
/// Adds up all updates of an element.
Tensor scatter_add(const Tensor& operand, const Tensor& indices, const Tensor& updates,
                   const GatherDims& dims, const ScatterOptions& options = {});
/// Multiplies an element by all its updates. Unless `unique_indices`, the gradient of an update
/// divides by the update. Where an element has an update of zero, derivatives of the second order
/// are then wrong.
Tensor scatter_mul(const Tensor& operand, const Tensor& indices, const Tensor& updates,
                   const GatherDims& dims, const ScatterOptions& options = {});
/// The least (largest) of an element and its updates; NaN if one of them is NaN. Equal ones share
/// the gradient.
Tensor scatter_min(const Tensor& operand, const Tensor& indices, const Tensor& updates,
                   const GatherDims& dims, const ScatterOptions& options = {});
Tensor scatter_max(const Tensor& operand, const Tensor& indices, const Tensor& updates,
                   const GatherDims& dims, const ScatterOptions& options = {});
/// Replaces elements by their updates. Windows must not overlap: both the result and the gradient
/// of overlapping updates are undefined.
Tensor scatter(const Tensor& operand, const Tensor& indices, const Tensor& updates,
               const GatherDims& dims, const ScatterOptions& options = {});

// Reading and writing at computed positions.
//
// Indices may have any integer dtype. An index outside the tensor is never an error: unless stated
// otherwise it is clamped to the nearest one inside. Negative indices count from the end only
// after from_end().

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
/// have the shape that take would return. Ops and gradients are as in scatter; updates at
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
// sorts.

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

// Sorting and top-k. For sorts, -0 equals 0 and NaN counts as the largest value.

enum class SortOrder { kAscending, kDescending };

/// Sorts along `axis`. All sorts of this file are stable: equal elements keep their order.
Tensor sort(const Tensor& x, int64_t axis = -1, SortOrder order = SortOrder::kAscending);
/// Sorts tensors of one shape together. The first `num_keys` operands are the keys, most
/// significant first. Costs num_keys * elements * log2(length of the axis) comparisons, each
/// counted as one floating-point operation.
Values sort_key_val(const Values& operands, int64_t axis = -1, int64_t num_keys = 1,
                    SortOrder order = SortOrder::kAscending);
/// Returns the indices (i32) that sort x along `axis`.
Tensor argsort(const Tensor& x, int64_t axis = -1, SortOrder order = SortOrder::kAscending);
/// Returns the k largest elements along the last dim, descending, and their indices (i32). Equal
/// elements keep their order. Floats have their total order, as in XLA: 0 is larger
/// than -0, and a NaN with a sign bit is the least of all.
std::pair<Tensor, Tensor> top_k(const Tensor& x, int64_t k);

// The largest elements of a float tensor, for programs that are written for an approximate search.
//
// Source of the arguments: Chern et al. 2022, arXiv 2206.14286, and jax.lax.approx_max_k.

/// What a search may leave out. Results are exact here, so they meet any target: the fields are
/// checked, and have no other effect.
struct ApproxMaxKOptions {
  /// The share of the k largest elements that a search has to find on average, in (0, 1].
  double recall_target = 0.95;
  /// The number of elements of the whole search where x is a part of it, for the recall. None: the
  /// size of the axis.
  std::optional<int64_t> reduction_input_size_override = {};
  /// False: a search may return more than k elements, in any order. Here they are k, descending.
  bool aggregate_to_topk = true;
};

/// Returns the k largest elements along `axis`, descending, and their indices (i32). Equal elements
/// and NaN are as in top_k.
///
/// Shapes: x of a floating-point dtype -> values of its dtype, indices i32; `axis` has k elements.
/// Throws ShapeError for other dtypes, for k outside of 1 to the size of the axis, for a recall
/// outside of (0, 1], and for a search of fewer elements than x has along the axis.
std::pair<Tensor, Tensor> approx_max_k(const Tensor& x, int64_t k, int64_t axis = -1,
                                       const ApproxMaxKOptions& options = {});

}  // namespace axle
