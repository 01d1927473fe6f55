#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace axle {

/// Returns the axes {first, first + 1, ..., last - 1}. Requires first <= last.
inline std::vector<int64_t> axis_range(int64_t first, int64_t last) {
  std::vector<int64_t> out(static_cast<size_t>(last - first));
  std::iota(out.begin(), out.end(), first);
  return out;
}

}  // namespace axle
