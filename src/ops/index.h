// Reading and writing at computed positions.
//
// Indices are of any integer dtype. Positions outside are moved to the nearest one inside, never an error; negative
// indices do not count from the end.
#pragma once

#include "ir/tensor.h"
#include "ops/gather.h"

namespace axle {

/// Slices of x along `axis`: the dim is replaced by the dims of `indices`. An embedding is take(weight, ids, 0).
Tensor take(const Tensor& x, const Tensor& indices, int64_t axis = 0);
/// y[.., i, ..] = x[.., indices[.., i, ..], ..]: indices have the shape of x but for `axis`.
Tensor take_along_axis(const Tensor& x, const Tensor& indices, int64_t axis = -1);
/// x with updates[.., i, ..] added at [.., indices[.., i, ..], ..], the transpose of take_along_axis; indices outside
/// are dropped.
Tensor add_along_axis(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t axis = -1);
/// 1 at each index of a new last dim of size n, else 0; all 0 for an index outside.
Tensor one_hot(const Tensor& indices, int64_t n, DType dtype = DType::kF32);

/// The window of `sizes` that starts at `starts`, one integer scalar a dim, moved inside where it would reach outside.
Tensor dynamic_slice(const Tensor& x, const Values& starts, const Shape& sizes);
/// x with `update` written at `starts`, moved inside likewise.
Tensor dynamic_update_slice(const Tensor& x, const Tensor& update, const Values& starts);
/// dynamic_slice of `size` along one dim.
Tensor dynamic_slice_in_dim(const Tensor& x, const Tensor& start, int64_t size, int64_t axis = 0);
/// x[.., index, ..] without the dim.
Tensor dynamic_index_in_dim(const Tensor& x, const Tensor& index, int64_t axis = 0);
/// dynamic_update_slice along one dim.
Tensor dynamic_update_slice_in_dim(const Tensor& x, const Tensor& update, const Tensor& start, int64_t axis = 0);
/// x with x[.., index, ..] replaced by `update`, which lacks the dim.
Tensor dynamic_update_index_in_dim(const Tensor& x, const Tensor& update, const Tensor& index, int64_t axis = 0);

}  // namespace axle
