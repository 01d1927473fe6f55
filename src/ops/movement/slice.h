// Slices, padding and concatenation at positions known while tracing. For computed positions see
// dynamic_slice.h.
#pragma once

#include "ir/tensor.h"

namespace axle {

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

}  // namespace axle
