// Walks over strided views of host tensors. The interpreter evaluates ops that move or reduce data
// with them.
#pragma once

#include "ir/host_tensor.h"

namespace axle {

/// A strided view of a dense array: index i lies at offset + sum(i[d] * strides[d]). Offset and
/// strides are counted in elements.
struct StridedView {
  int64_t offset = 0;
  Shape strides = {};
};
/// Returns the view of a whole dense array of this shape.
inline StridedView dense_view(const Shape& shape) { return {0, row_major_strides(shape)}; }

/// Calls fn(index) for every index of `shape`, in row-major order.
template <class F>
void for_each_index(const Shape& shape, F fn) {
  Shape index(shape.size(), 0);
  for (int64_t left = num_elements(shape); left > 0; --left) {
    fn(index);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

/// A line of `count` positions in two views. Each is `a_step` and `b_step` after the one before.
struct LinePair {
  int64_t a, b, a_step, b_step, count;
};
/// The lines that visit every index of a shape in row-major order. Lines are as long as the strides
/// allow.
class LinePairs {
 public:
  LinePairs(const Shape& shape, const StridedView& a, const StridedView& b);
  /// Calls fn(LinePair) for each line.
  template <class F>
  void for_each(F fn) const {
    Shape index(outer_.size(), 0);
    LinePair line = first_;
    for (int64_t left = num_lines_; left > 0; --left) {
      fn(line);
      for (size_t d = outer_.size(); d-- > 0;) {
        line.a += a_steps_[d];
        line.b += b_steps_[d];
        if (++index[d] < outer_[d]) break;
        line.a -= a_steps_[d] * outer_[d];
        line.b -= b_steps_[d] * outer_[d];
        index[d] = 0;
      }
    }
  }

 private:
  Shape outer_, a_steps_, b_steps_;
  LinePair first_;
  int64_t num_lines_;
};

/// Calls fn(position of the first element, step, count) for each line of elements along `axis`.
/// Lines come in row-major order of the other dims.
template <class F>
void for_each_line(const Shape& shape, int64_t axis, F fn) {
  const auto n = static_cast<size_t>(shape[static_cast<size_t>(axis)]);
  const auto step = static_cast<size_t>(row_major_strides(shape)[static_cast<size_t>(axis)]);
  const size_t lines = n == 0 ? 0 : static_cast<size_t>(num_elements(shape)) / n;
  for (size_t j = 0; j < lines; ++j) fn(j / step * step * n + j % step, step, n);
}

/// y[to(i)] = x[from(i)] for every index i of `shape`. x and y have the same dtype.
void copy_strided(const Shape& shape, const HostTensor& x, const StridedView& from, HostTensor& y,
                  const StridedView& to);

}  // namespace axle
