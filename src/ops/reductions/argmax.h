// Where the largest or smallest element is.
#pragma once

#include "ir/tensor.h"

namespace axle {

/// Index of the first largest (smallest) element along `axis`, i32; the first NaN wins. The axis
/// vanishes.
Tensor argmax(const Tensor& x, int64_t axis = -1);
Tensor argmin(const Tensor& x, int64_t axis = -1);

}  // namespace axle
