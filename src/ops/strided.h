// Copies between strided views of host tensors: the evaluation of all ops that only move data.
#pragma once

#include "ir/host_tensor.h"

namespace axle {

/// The elements of a dense array that lie at offset + sum(index * strides), counted in elements.
struct StridedView {
  int64_t offset = 0;
  Shape strides = {};
};

/// y[to(i)] = x[from(i)] for every index i of `shape`; x and y have one dtype.
void copy_strided(const Shape& shape, const HostTensor& x, const StridedView& from, HostTensor& y, const StridedView& to);

}  // namespace axle
