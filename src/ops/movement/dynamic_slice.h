// Slices at computed positions. A slice that would reach outside the tensor is moved inside. For
// positions known while tracing see slice.h.
#pragma once

#include "ir/tensor.h"

namespace axle {

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

/// Moves the elements along `axis` by `shift` places towards the end, in a circle. `shift` is an
/// integer scalar.
Tensor dynamic_roll(const Tensor& x, const Tensor& shift, int64_t axis = 0);

}  // namespace axle
