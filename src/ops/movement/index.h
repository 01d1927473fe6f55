// Reading and writing at computed positions.
//
// Indices are of any integer dtype. Positions outside are moved to the nearest one inside, never an
// error; negative indices do not count from the end.
#pragma once

#include "ir/tensor.h"
#include "ops/movement/dynamic_slice.h"
#include "ops/movement/gather.h"

namespace axle {

/// Slices of x along `axis`: the dim is replaced by the dims of `indices`. An embedding is
/// take(weight, ids, 0).
Tensor take(const Tensor& x, const Tensor& indices, int64_t axis = 0);
/// y[.., i, ..] = x[.., indices[.., i, ..], ..]: indices have the shape of x but for `axis`.
Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis = -1);
/// x with updates[.., i, ..] added at [.., indices[.., i, ..], ..], the transpose of
/// take_along_axis; indices outside are dropped.
Tensor add_along_axis(const Tensor& x, const Tensor& indices, const Tensor& updates,
                      int64_t axis = -1);
/// Rows of x by batch: y[b.., i.., d..] = x[b.., indices[b.., i..], d..]. The first
/// `num_batch_dims` dims of x and of the indices are equal.
Tensor batched_take(const Tensor& x, const Tensor& indices, int64_t num_batch_dims = 1);
/// x with the rows of each batch element overwritten from one row on:
/// y[b, starts[b] + t, d..] = updates[b, t, d..]. Updates that reach beyond x are dropped.
///
/// Shapes: x[B, S, ..], starts[B], updates[B, T, ..] -> y[B, S, ..].
Tensor batched_put_rows(const Tensor& x, const Tensor& starts, const Tensor& updates);
/// 1 at each index of a new last dim of size n, else 0; all 0 for an index outside.
Tensor one_hot(const Tensor& indices, int64_t n, DType dtype = DType::kF32);

}  // namespace axle
