// The interpreter's walk over the windows of a gather or scatter.
#pragma once

#include <vector>

#include "ir/host_tensor.h"
#include "ops/movement/gather.h"

namespace axle {

class WindowWalk {
 public:
  /// What to do with a window that reaches outside the operand.
  enum class Outside { kMove, kDrop };
  WindowWalk(const WindowDims& dims, const Shape& sizes, const Shape& operand,
             const HostTensor& indices, const Shape& slices);
  /// Calls fn(offset in the operand, offset in the slices) for each element of each window,
  /// positions in row-major order.
  template <class F>
  void each(Outside outside, F fn) const {
    for (const Position& p : positions_) {
      if (outside == Outside::kDrop && !p.inside) continue;
      for (const Element& e : window_) fn(p.operand + e.operand, p.slices + e.slices);
    }
  }

 private:
  struct Position {
    int64_t operand, slices;  // offsets of the window's first element, once moved inside
    bool inside;
  };
  struct Element {
    int64_t operand, slices;  // offsets from the window's first element
  };
  std::vector<Position> positions_;
  std::vector<Element> window_;
};

}  // namespace axle
