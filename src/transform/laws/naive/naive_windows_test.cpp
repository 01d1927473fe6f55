// References of reductions over windows.
#include <cmath>
#include <functional>
#include <limits>

#include "transform/laws/naive_test.h"

namespace axle::testing {
namespace {

using NaiveWindowsReal = long double;
using NaiveWindowsDims = std::vector<int64_t>;

struct WindowAttributes {
  NaiveWindowsDims sizes, strides, padding, holes, spread;
  WindowAttributes(const AttributeText& attrs, size_t rank)
      : sizes(attrs.numbers("window")),
        strides(attrs.numbers("strides")),
        padding(attrs.numbers("padding")),
        holes(attrs.numbers("base_dilations")),
        spread(attrs.numbers("window_dilations")) {
    for (NaiveWindowsDims* list : {&sizes, &strides, &holes, &spread}) {
      if (list->empty()) list->assign(rank, 1);
    }
    if (padding.empty()) padding.assign(2 * rank, 0);
  }
};

// Calls fn(position in x) for the elements of x under a window, in row-major order.
void under_window(const WindowAttributes& w, const Shape& shape, const Shape& window,
                  const std::function<void(size_t)>& fn) {
  each_index(w.sizes, [&](const Shape& k) {
    Shape at(shape.size());
    for (size_t d = 0; d < at.size(); ++d) {
      const int64_t p = window[d] * w.strides[d] + k[d] * w.spread[d] - w.padding[2 * d];
      if (p < 0 || p % w.holes[d] != 0 || p / w.holes[d] >= shape[d]) return;
      at[d] = p / w.holes[d];
    }
    fn(position(shape, at));
  });
}

// The maximum of nothing: the least number of the dtype.
NaiveWindowsReal least(DType dtype) {
  if (dtype == DType::kF8E4M3FN) return -448;
  if (is_float(dtype)) return -std::numeric_limits<NaiveWindowsReal>::infinity();
  if (is_unsigned(dtype) || dtype == DType::kPred) return 0;
  return -std::ldexp(1.0L, 8 * static_cast<int>(size_bytes(dtype)) - 1);
}
NaiveWindowsReal largest(DType dtype) {
  if (is_float(dtype)) return -least(dtype);
  if (dtype == DType::kPred) return 1;
  const int bits = 8 * static_cast<int>(size_bytes(dtype));
  return std::ldexp(1.0L, is_unsigned(dtype) ? bits : bits - 1) - 1;
}

Reference reduced(std::function<NaiveWindowsReal(NaiveWindowsReal, NaiveWindowsReal)> f,
                  std::function<NaiveWindowsReal(DType)> of_nothing) {
  return [=](const NaiveCall& c) {
    Naive y(c.result());
    const Shape& shape = c.x[0].type.dims;
    const WindowAttributes w(c.attrs, shape.size());
    const DType dtype = y.type.dtype;
    size_t to = 0;
    each_index(y.type.dims, [&](const Shape& window) {
      y.re[to] = of_nothing(dtype);
      under_window(w, shape, window, [&](size_t from) {
        y.re[to] = f(y.re[to], c.x[0].re[from]);
        if (is_integer(dtype)) y.re[to] = wrapped(static_cast<__int128>(y.re[to]), dtype);
        if (!y.im.empty()) y.im[to] += c.x[0].im[from];  // sums only
      });
      ++to;
    });
    return Naives{y};
  };
}

// The element that a window selects: the first largest (or least) one, NaN before all; -1 if the
// window has none.
int64_t selected(const NaiveCall& c, const WindowAttributes& w, const Shape& window, bool largest) {
  int64_t best = -1;
  under_window(w, c.x[0].type.dims, window, [&](size_t i) {
    const NaiveWindowsReal v = c.x[0].re[i];
    if (best >= 0) {
      const NaiveWindowsReal b = c.x[0].re[static_cast<size_t>(best)];
      if (std::isnan(b) || !(std::isnan(v) || (largest ? v > b : v < b))) return;
    }
    best = static_cast<int64_t>(i);
  });
  return best;
}
bool takes_largest(const NaiveCall& c) {
  return c.attrs.text().find("largest") != std::string::npos;
}

Naives selected_positions(const NaiveCall& c) {
  Naive y(c.result());
  const WindowAttributes w(c.attrs, c.x[0].type.dims.size());
  size_t to = 0;
  // Positions count within one example of a batch.
  const int64_t batch_dims = c.attrs.has("num_batch_dims") ? c.attrs.number("num_batch_dims") : 0;
  int64_t example = 1;
  for (int64_t d = batch_dims; d < c.x[0].type.rank(); ++d) example *= c.x[0].dim(d);
  each_index(y.type.dims, [&](const Shape& window) {
    const int64_t at = selected(c, w, window, takes_largest(c));
    y.re[to++] = static_cast<NaiveWindowsReal>(at < 0 ? at : at % example);
  });
  return {y};
}

Naives select_and_scatter_add(const NaiveCall& c) {
  Naive y(c.result());
  const WindowAttributes w(c.attrs, c.x[0].type.dims.size());
  size_t from = 0;
  each_index(c.x[1].type.dims, [&](const Shape& window) {
    const int64_t to = selected(c, w, window, takes_largest(c));
    if (to >= 0) y.re[static_cast<size_t>(to)] += c.x[1].re[from];
    ++from;
  });
  return {y};
}

NaiveWindowsReal naive_windows_or_nan(NaiveWindowsReal a, NaiveWindowsReal b, NaiveWindowsReal v) {
  return std::isnan(a) || std::isnan(b) ? a + b : v;
}

}  // namespace

void add_window_references(References& out) {
  out["reduce_window_sum"] = reduced([](NaiveWindowsReal a, NaiveWindowsReal b) { return a + b; },
                                     [](DType) { return 0; });
  out["reduce_window_max"] =
      reduced([](NaiveWindowsReal a,
                 NaiveWindowsReal b) { return naive_windows_or_nan(a, b, std::max(a, b)); },
              least);
  out["reduce_window_min"] =
      reduced([](NaiveWindowsReal a,
                 NaiveWindowsReal b) { return naive_windows_or_nan(a, b, std::min(a, b)); },
              largest);
  out["selected_positions"] = selected_positions;
  out["select_and_scatter_add"] = select_and_scatter_add;
}

}  // namespace axle::testing
