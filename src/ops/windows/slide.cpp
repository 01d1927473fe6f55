#include "ops/windows/slide.h"

namespace axle::detail {

SlideSteps slide_steps(const SlidingDim& dim, int64_t size, int64_t count, int64_t x_stride,
                       int64_t window_stride) {
  SlideSteps out(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < dim.size; ++k) {
      const int64_t place = i * dim.stride - dim.low + k * dim.window_dilation;
      if (place < 0 || place % dim.base_dilation != 0 || place / dim.base_dilation >= size)
        continue;
      out[static_cast<size_t>(i)].push_back(
          {place / dim.base_dilation * x_stride, k * window_stride});
    }
  }
  return out;
}

}  // namespace axle::detail
