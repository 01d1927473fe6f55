// Walks over strided views of host tensors: the evaluation of ops that move or reduce data.
#pragma once

#include "ir/host_tensor.h"

namespace axle {

/// The elements of a dense array that lie at offset + sum(index * strides), counted in elements.
struct StridedView {
  int64_t offset = 0;
  Shape strides = {};
};
/// All of a dense array of this shape.
inline StridedView dense_view(const Shape& shape) { return {0, row_major_strides(shape)}; }

/// Calls fn(place in a, place in b) for every index of `shape`, in row-major order.
template <class F>
void walk(const Shape& shape, const StridedView& a, const StridedView& b, F fn) {
  Shape index(shape.size(), 0);
  int64_t i = a.offset, j = b.offset;
  for (int64_t n = num_elements(shape); n > 0; --n) {
    fn(static_cast<size_t>(i), static_cast<size_t>(j));
    for (size_t d = shape.size(); d-- > 0;) {
      i += a.strides[d];
      j += b.strides[d];
      if (++index[d] < shape[d]) break;
      i -= a.strides[d] * shape[d];
      j -= b.strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

/// Calls fn(first element, step, count) for each line of elements along `axis`, in the order of the
/// other dims.
template <class F>
void for_each_line(const Shape& shape, int64_t axis, F fn) {
  const auto n = static_cast<size_t>(shape[static_cast<size_t>(axis)]);
  const auto step = static_cast<size_t>(row_major_strides(shape)[static_cast<size_t>(axis)]);
  const size_t lines = n == 0 ? 0 : static_cast<size_t>(num_elements(shape)) / n;
  for (size_t j = 0; j < lines; ++j) fn(j / step * step * n + j % step, step, n);
}

/// y[to(i)] = x[from(i)] for every index i of `shape`; x and y have one dtype.
void copy_strided(const Shape& shape, const HostTensor& x, const StridedView& from, HostTensor& y,
                  const StridedView& to);

}  // namespace axle
