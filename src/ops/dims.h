// Lists of dims and axes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "ir/type.h"

namespace axle {

/// Returns the axes {first, first + 1, ..., last - 1}. Requires first <= last.
inline std::vector<int64_t> axis_range(int64_t first, int64_t last) {
  std::vector<int64_t> out(static_cast<size_t>(last - first));
  std::iota(out.begin(), out.end(), first);
  return out;
}

/// Returns the dims of 0 .. rank-1 that are not in `dims` (ascending).
inline std::vector<int64_t> other_dims(int64_t rank, const std::vector<int64_t>& dims) {
  std::vector<int64_t> out;
  for (int64_t d = 0; d < rank; ++d) {
    if (!std::ranges::binary_search(dims, d)) out.push_back(d);
  }
  return out;
}
/// Returns the shape without `dims` (ascending).
inline Shape without_dims(const Shape& shape, const std::vector<int64_t>& dims) {
  Shape out;
  for (const int64_t d : other_dims(static_cast<int64_t>(shape.size()), dims))
    out.push_back(shape[static_cast<size_t>(d)]);
  return out;
}

}  // namespace axle
