// Windows at computed places, moved inside where they would reach outside (places known while
// tracing: slice.h).
#pragma once

#include "ir/tensor.h"

namespace axle {

/// The window of `sizes` that starts at `starts`, one integer scalar a dim.
Tensor dynamic_slice(const Tensor& x, const Values& starts, const Shape& sizes);
/// x with `update` written at `starts`.
Tensor dynamic_update_slice(const Tensor& x, const Tensor& update, const Values& starts);
/// dynamic_slice of `size` along one dim.
Tensor dynamic_slice_in_dim(const Tensor& x, const Tensor& start, int64_t size, int64_t axis = 0);
/// x[.., index, ..] without the dim.
Tensor dynamic_index_in_dim(const Tensor& x, const Tensor& index, int64_t axis = 0);
/// dynamic_update_slice along one dim.
Tensor dynamic_update_slice_in_dim(const Tensor& x, const Tensor& update, const Tensor& start,
                                   int64_t axis = 0);
/// x with x[.., index, ..] replaced by `update`, which lacks the dim.
Tensor dynamic_update_index_in_dim(const Tensor& x, const Tensor& update, const Tensor& index,
                                   int64_t axis = 0);

}  // namespace axle
