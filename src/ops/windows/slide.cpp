#include "ops/windows/slide.h"

namespace axle {
namespace {

// An element of a window that lies on an element of the operand: their offsets along one dim.
struct SlideStep {
  int64_t x, window;
};
// The steps of one dim, for each position of the window.
using SlideSteps = std::vector<std::vector<SlideStep>>;

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

template <class F>
void each_step(const std::vector<SlideSteps>& steps, const Shape& position, SlideStep at, F& fn,
               size_t d = 0) {
  if (d == steps.size()) return fn(at);
  for (const SlideStep& s : steps[d][static_cast<size_t>(position[d])])
    each_step(steps, position, SlideStep{at.x + s.x, at.window + s.window}, fn, d + 1);
}

}  // namespace

void slide(const SlidingWindow& window, const Shape& x, const Shape& y, const SlideStrides& strides,
           const std::function<void(size_t, size_t, size_t)>& fn) {
  std::vector<SlideSteps> steps;
  for (size_t d = 0; d < window.size(); ++d)
    steps.push_back(slide_steps(window[d], x[d], y[d], strides.x[d], strides.window[d]));
  for_each_index(y, [&](const Shape& position) {
    int64_t to = 0;
    for (size_t d = 0; d < position.size(); ++d) to += position[d] * strides.y[d];
    const auto call = [&](const SlideStep& s) {
      fn(static_cast<size_t>(to), static_cast<size_t>(s.x), static_cast<size_t>(s.window));
    };
    each_step(steps, position, SlideStep{0, 0}, call);
  });
}

void slide(const SlidingWindow& window, const Shape& x, const Shape& y,
           const std::function<void(size_t, size_t)>& fn) {
  slide(window, x, y, {row_major_strides(x), Shape(x.size(), 0), row_major_strides(y)},
        [&](size_t to, size_t from, size_t) { fn(to, from); });
}

}  // namespace axle
