// Taking tensors apart and putting them together, at places known while tracing (dynamic ones:
// dynamic_slice.h).
#pragma once

#include "ir/scalar.h"
#include "ir/tensor.h"

namespace axle {

/// Elements starts[d], starts[d] + strides[d], ... below limits[d] of every dim; no strides: all 1.
Tensor slice(const Tensor& x, const Shape& starts, const Shape& limits, const Shape& strides = {});
/// slice along one axis; negative positions count from the end.
Tensor slice_in_dim(const Tensor& x, int64_t axis, int64_t start, int64_t limit,
                    int64_t stride = 1);
/// x[.., i, ..] along `axis`, which vanishes; negative i counts from the end.
Tensor index_in_dim(const Tensor& x, int64_t axis, int64_t i);
/// `value`, a scalar, before (low), after (high) and between (interior) the elements of each dim;
/// negative low and high cut elements off.
Tensor pad(const Tensor& x, const Tensor& value, const Shape& low, const Shape& high,
           const Shape& interior = {});
Tensor pad(const Tensor& x, Scalar value, const Shape& low, const Shape& high,
           const Shape& interior = {});
/// Pads one axis with `value`.
Tensor pad_in_dim(const Tensor& x, int64_t axis, int64_t low, int64_t high, Scalar value = 0);

/// Along an axis that they have.
Tensor concatenate(const Values& parts, int64_t axis);
/// Along a new axis.
Tensor stack(const Values& parts, int64_t axis = 0);
/// Parts of these sizes along `axis`. Throws ShapeError if they do not add up to the dim.
Values split(const Tensor& x, const Shape& sizes, int64_t axis);
/// The whole tensor, repeats[d] times along each dim.
Tensor tile(const Tensor& x, const Shape& repeats);
/// Each element of `axis` `count` times in a row.
Tensor repeat(const Tensor& x, int64_t count, int64_t axis);

}  // namespace axle
