// Iterates over the windows of a gather or scatter, for the interpreter.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/host_tensor.h"
#include "ops/movement/gather_dims.h"

namespace axle {

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

}  // namespace axle
