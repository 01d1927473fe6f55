// The position of the largest or smallest element.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Returns the index (i32) of the first largest (smallest) element along `axis`, without this axis.
/// If there are NaNs, returns the index of the first NaN.
Tensor argmax(const Tensor& x, int64_t axis = -1);
Tensor argmin(const Tensor& x, int64_t axis = -1);

}  // namespace axle
