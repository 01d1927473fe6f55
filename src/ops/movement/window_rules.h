// Windows of a tensor: slices with steps and padding, and the rules that their ops share.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ir/host_tensor.h"
#include "ir/op_rules.h"
#include "ops/movement/movement.h"

namespace axle {

// What the rules of gather and scatter share. "Slices" are the result of gather and the updates of
// scatter.

/// The promises of GatherOptions and ScatterOptions. `in_bounds` is also set where a rule does not
/// care what becomes of windows outside.
struct WindowPromises {
  bool in_bounds = false, sorted = false, unique = false;
};

struct WindowAttributes : Attributes {
  WindowAttributes(GatherDims d, Shape s, WindowPromises p)
      : dims(std::move(d)), sizes(std::move(s)), promises(p) {}
  GatherDims dims;
  Shape sizes;  // size of the window along each dim of the operand
  WindowPromises promises;
  std::string text() const override;
};

/// True if windows have size 1 along dim d of the operand, so that the slices lack it.
bool is_dropped(const GatherDims& dims, int64_t d);

/// Throws ShapeError, naming `op`, if dimension numbers name dims that the operand or the indices
/// lack, or name a dim twice.
void check_gather_dims(std::string_view op, const GatherDims& dims, const Tensor& operand,
                       const Tensor& indices);
/// Throws ShapeError if the dimension numbers do not fit the first two operands.
void check_windows(const OpNode& op);
/// Returns the shape of the slices. Throws ShapeError if the offset dims do not fit.
Shape slices_shape(const OpNode& op);

/// Returns the positions moved so that their windows are inside the operand.
Tensor positions_inside(const WindowAttributes& a, const Tensor& operand, const Tensor& indices);
/// Returns a predicate of the shape of `slices`: true for windows inside the operand.
Tensor windows_inside(const WindowAttributes& a, const Tensor& operand, const Tensor& indices,
                      const Tensor& slices);

/// Names of the dimension lists in the MLIR attribute of gather or scatter.
struct WindowDimNames {
  std::string_view offset, collapsed, operand_batch, indices_batch, index_map;
};
std::string mlir_dims(const GatherDims& dims, const WindowDimNames& names);

/// Returns the dims of windows over batched slices. The batch is a batch dim if both the operand
/// and the indices have it, a position dim if only the indices have it, else a dim of each window.
GatherDims batched_dims(const GatherDims& dims, bool has_operand, bool has_indices);
/// Returns the promises that still hold over batched slices.
WindowPromises batched_promises(WindowPromises promises, bool has_operand, bool has_indices);

/// True if `d` is one of `dims`.
inline bool has_dim(const std::vector<int64_t>& dims, int64_t d) {
  return std::ranges::find(dims, d) != dims.end();
}

/// Returns indices as i64. A u64 beyond that range is the largest i64: both are beyond any dim.
HostTensor wide_indices(const HostTensor& indices);

/// The offsets of all elements of all windows of a gather or scatter.
class WindowWalk {
 public:
  /// How to treat a window that reaches outside the operand: move it inside or drop it.
  enum class OutOfBounds { kClamp, kDrop };
  WindowWalk(const GatherDims& dims, const Shape& sizes, const Shape& operand,
             const HostTensor& indices, const Shape& slices);
  /// Calls fn(offset in the operand, offset in the slices) for each element of each window. The
  /// windows come in row-major order of their positions.
  template <class F>
  void each(OutOfBounds treatment, F fn) const {
    for (const Position& p : positions_) {
      if (treatment == OutOfBounds::kDrop && !p.inside) continue;
      for (const Element& e : window_) fn(p.operand + e.operand, p.slices + e.slices);
    }
  }

 private:
  struct Position {
    int64_t operand, slices;  // offsets of the window's first element, after it was moved inside
    bool inside;              // false if the window had to be moved
  };
  struct Element {
    int64_t operand, slices;  // offsets from the window's first element
  };
  std::vector<Position> positions_;
  std::vector<Element> window_;
};

// Walks over strided views of host tensors. The interpreter evaluates ops that move or reduce data
// with them.

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
