// Reading and writing at computed positions.
//
// Indices may have any integer dtype. An index outside the tensor is never an error: unless stated
// otherwise it is clamped to the nearest one inside. Negative indices count from the end only
// after from_end().
#pragma once

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
/// have the shape that take would return. Ops and gradients are those of scatter.h; updates at
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
/// Adds a last dim of size n that is 1 at each index and 0 elsewhere. An index outside [0, n) gives
/// zeros.
Tensor one_hot(const Tensor& indices, int64_t n, DType dtype = DType::kF32);

}  // namespace axle
