// Walks over the elements under sliding windows, for the interpreter.
#pragma once

#include "ops/movement/strided.h"
#include "ops/windows/window.h"

namespace axle {

/// Strides of the dims that a window slides over: in the operand, in the window and in the result.
struct SlideStrides {
  Shape x, window, y;
};

namespace detail {
/// An element of a window that lies on an element of the operand: their offsets along one dim.
struct SlideStep {
  int64_t x, window;
};
/// The steps of one dim, for each position of the window.
using SlideSteps = std::vector<std::vector<SlideStep>>;
SlideSteps slide_steps(const SlidingDim& dim, int64_t size, int64_t count, int64_t x_stride,
                       int64_t window_stride);

template <class F>
void each_step(const std::vector<SlideSteps>& steps, const Shape& position, SlideStep at, F& fn,
               size_t d = 0) {
  if (d == steps.size()) return fn(at);
  for (const SlideStep& s : steps[d][static_cast<size_t>(position[d])])
    each_step(steps, position, SlideStep{at.x + s.x, at.window + s.window}, fn, d + 1);
}
}  // namespace detail

/// Calls fn(offset in y, offset in x, offset in the window) for each element of each window that
/// lies on an element of x, not on padding or holes. Windows come in row-major order, and so do the
/// elements of a window. `x` and `y` are the shapes of the dims that the window slides over.
template <class F>
void slide(const SlidingWindow& window, const Shape& x, const Shape& y, const SlideStrides& strides,
           F fn) {
  std::vector<detail::SlideSteps> steps;
  for (size_t d = 0; d < window.size(); ++d)
    steps.push_back(detail::slide_steps(window[d], x[d], y[d], strides.x[d], strides.window[d]));
  for_each_index(y, [&](const Shape& position) {
    int64_t to = 0;
    for (size_t d = 0; d < position.size(); ++d) to += position[d] * strides.y[d];
    const auto call = [&](const detail::SlideStep& s) {
      fn(static_cast<size_t>(to), static_cast<size_t>(s.x), static_cast<size_t>(s.window));
    };
    detail::each_step(steps, position, detail::SlideStep{0, 0}, call);
  });
}

/// Calls fn(offset in y, offset in x) for windows over all dims of dense tensors; see slide.
template <class F>
void slide(const SlidingWindow& window, const Shape& x, const Shape& y, F fn) {
  slide(window, x, y, {row_major_strides(x), Shape(x.size(), 0), row_major_strides(y)},
        [&](size_t to, size_t from, size_t) { fn(to, from); });
}

}  // namespace axle
