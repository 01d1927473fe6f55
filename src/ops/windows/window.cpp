#include <fmt/format.h>

#include <algorithm>

#include "base/lists.h"
#include "ops/rules.h"
#include "ops/windows/windows.h"

namespace axle {
namespace {

int64_t covered(const SlidingDim& d) { return dilated_size(d.size, d.window_dilation); }

// True if n elements that are d apart span no more elements than any tensor has.
bool spans_few(int64_t n, int64_t d) {
  return checked_product(n, d).value_or(kMaxElements + 1) <= kMaxElements;
}
bool is_small_window(int64_t n) { return n >= -kMaxElements && n <= kMaxElements; }

// Sets the padding that gives ceil(size / stride) windows.
void pad_to_same(SlidingDim& d, int64_t size) {
  const int64_t base = dilated_size(size, d.base_dilation);
  const int64_t count = (base + d.stride - 1) / d.stride;
  const int64_t total = std::max<int64_t>((count - 1) * d.stride + covered(d) - base, 0);
  d.low = total / 2;
  d.high = total - d.low;
}

}  // namespace

SlidingWindow sliding_window(std::string_view op, const Window& window, const Shape& sizes,
                             const Values& operands) {
  const size_t rank = sizes.size();
  const auto check_count = [&](std::string_view what, size_t count) {
    if (count == rank) return;
    shape_error(op, fmt::format("expected {} for {} dims, got {}", what, rank, count), operands);
  };
  SlidingWindow out(rank);
  const auto set = [&](std::string_view what, const Shape& list, int64_t SlidingDim::*member) {
    if (list.empty()) return;
    check_count(what, list.size());
    for (size_t d = 0; d < rank; ++d) {
      if (list[d] < 1)
        shape_error(op, fmt::format("expected {} of at least 1, got {}", what, to_text(list)),
                    operands);
      out[d].*member = list[d];
    }
  };
  set("window sizes", window.sizes, &SlidingDim::size);
  set("strides", window.strides, &SlidingDim::stride);
  set("base dilations", window.base_dilations, &SlidingDim::base_dilation);
  set("window dilations", window.window_dilations, &SlidingDim::window_dilation);
  const auto check_few = [&](size_t d, bool few) {
    if (few) return;
    shape_error(op,
                fmt::format("expected a window that with its strides, dilations and padding spans "
                            "at most {} elements of a dim, got {}",
                            kMaxElements, to_text(SlidingWindow{out[d]})),
                operands);
  };
  for (size_t d = 0; d < rank; ++d) {
    check_few(d, spans_few(out[d].size, out[d].window_dilation) &&
                     spans_few(sizes[d], out[d].base_dilation) && is_small_window(out[d].stride));
  }
  if (const auto& padding = window.padding.dims()) {
    check_count("padding", padding->size());
    for (size_t d = 0; d < rank; ++d) {
      out[d].low = (*padding)[d].low;
      out[d].high = (*padding)[d].high;
      check_few(d, is_small_window(out[d].low) && is_small_window(out[d].high));
    }
  } else if (window.padding.rule() == PaddingRule::kSame) {
    for (size_t d = 0; d < rank; ++d) pad_to_same(out[d], sizes[d]);
  }
  return out;
}

Shape num_windows(const OpNode& op, const SlidingWindow& window, const Shape& sizes) {
  Shape out;
  for (size_t i = 0; i < window.size(); ++i) {
    const SlidingDim& d = window[i];
    const int64_t padded = dilated_size(sizes[i], d.base_dilation) + d.low + d.high;
    if (padded < 0) {
      shape_error(op, fmt::format("expected padding that leaves elements of a dim of {}, got "
                                  "({}, {})",
                                  sizes[i], d.low, d.high));
    }
    out.push_back(padded < covered(d) ? 0 : (padded - covered(d)) / d.stride + 1);
  }
  return out;
}

SlidingWindow transposed(const SlidingWindow& window, const Shape& sizes, const Shape& counts) {
  SlidingWindow out = window;
  for (size_t i = 0; i < window.size(); ++i) {
    const SlidingDim& d = window[i];
    out[i].low = covered(d) - d.low - 1;
    out[i].high = dilated_size(sizes[i], d.base_dilation) + covered(d) - 1 -
                  dilated_size(counts[i], d.stride) - out[i].low;
    out[i].stride = d.base_dilation;
    out[i].base_dilation = d.stride;
  }
  return out;
}

Shape list_of(const SlidingWindow& window, int64_t SlidingDim::*member) {
  Shape out;
  for (const SlidingDim& d : window) out.push_back(d.*member);
  return out;
}

bool is_dilated(const SlidingWindow& window) {
  return std::ranges::any_of(
      window, [](const SlidingDim& d) { return d.base_dilation != 1 || d.window_dilation != 1; });
}

std::string to_text(const SlidingWindow& window) {
  std::string out, padding;
  const auto add = [&](std::string_view what, int64_t SlidingDim::*member) {
    const Shape list = list_of(window, member);
    if (std::ranges::all_of(list, [](int64_t v) { return v == 1; })) return;
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", what, to_text(list));
  };
  add("window", &SlidingDim::size);
  add("strides", &SlidingDim::stride);
  bool is_padded = false;
  for (const SlidingDim& d : window) {
    padding += fmt::format("{}({}, {})", padding.empty() ? "" : ", ", d.low, d.high);
    is_padded |= d.low != 0 || d.high != 0;
  }
  if (is_padded) out += fmt::format("{}padding = [{}]", out.empty() ? "" : ", ", padding);
  add("base_dilations", &SlidingDim::base_dilation);
  add("window_dilations", &SlidingDim::window_dilation);
  return out;
}

std::string SlidingAttributes::text() const { return to_text(window); }

SlidingWindow with_batch_dim(SlidingWindow window) {
  window.insert(window.begin(), SlidingDim{});
  return window;
}

std::string mlir_padding(const SlidingWindow& window) {
  std::string pairs;
  for (const SlidingDim& d : window)
    pairs += fmt::format("{}[{}, {}]", pairs.empty() ? "" : ", ", d.low, d.high);
  if (!pairs.empty()) pairs = "[" + pairs + "]";
  return fmt::format("padding = dense<{}> : tensor<{}x2xi64>", pairs, window.size());
}

std::string mlir_window(const SlidingWindow& window) {
  std::string out =
      fmt::format("window_dimensions = {}, window_strides = {}, {}",
                  mlir_array(list_of(window, &SlidingDim::size)),
                  mlir_array(list_of(window, &SlidingDim::stride)), mlir_padding(window));
  if (is_dilated(window)) {
    out += fmt::format(", base_dilations = {}, window_dilations = {}",
                       mlir_array(list_of(window, &SlidingDim::base_dilation)),
                       mlir_array(list_of(window, &SlidingDim::window_dilation)));
  }
  return out;
}

HloValues hlo_reduce_window(HloBuilder& b, const HloValues& x, const HloValues& init,
                            const SlidingWindow& window, const Shape& counts,
                            const std::function<HloValues(const HloValues&)>& combine) {
  HloValues operands = x;
  operands.insert(operands.end(), init.begin(), init.end());
  std::vector<Type> elements, results;
  for (const HloValue& v : x) {
    elements.push_back({v.type.dtype, {}});
    results.push_back({v.type.dtype, counts});
  }
  std::vector<Type> parameters = elements;
  parameters.insert(parameters.end(), elements.begin(), elements.end());
  return b.op("stablehlo.reduce_window", operands, results, mlir_window(window),
              {HloRegion{parameters, combine}});
}

}  // namespace axle
