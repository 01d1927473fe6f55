// Samples of convolutions and of reductions over windows.
#pragma once

#include "testing/op_sample.h"

namespace axle::testing::samples {

inline constexpr DType kNarrow[] = {DType::kI16,    DType::kU8,  DType::kF8E4M3FN,
                                    DType::kF8E5M2, DType::kF16, DType::kBF16};

inline void add_windows(std::vector<OpSample>& out) {
  const HostTensor x = uniform({4, 7}), y = uniform({2, 5, 6, 2}, -2, 2, 4);
  const Window plain{.sizes = {2, 3}, .strides = {2, 1}};
  const Window padded{.sizes = {2, 3}, .strides = {1, 2}, .padding = {{1, 0}, {-1, 2}}};
  const Window dilated{.sizes = {2, 3},
                       .strides = {1, 3},
                       .padding = {{0, 1}, {1, 1}},
                       .base_dilations = {2, 1},
                       .window_dilations = {1, 2}};
  for (const Window& w : {plain, padded, dilated}) {
    const auto add = [&](std::string_view op, Tensor (*fn)(const Tensor&, const Window&)) {
      out.push_back(call(op, {x}, [fn, w](const Values& v) { return fn(v[0], w); }));
    };
    add("reduce_window_sum", reduce_window_sum);
    add("reduce_window_max", reduce_window_max);
    add("reduce_window_min", reduce_window_min);
    for (const WindowSelect select : {WindowSelect::kLargest, WindowSelect::kLeast}) {
      out.push_back(call("selected_positions", {x}, [select, w](const Values& v) {
        return selected_positions(v[0], w, select);
      }));
    }
  }
  const HostTensor i = integers({4, 7});
  out.push_back(call("reduce_window_sum", {i},
                     [plain](const Values& v) { return reduce_window_sum(v[0], plain); }));
  out.push_back(call("reduce_window_max", {integers({4, 7}, DType::kI8)},
                     [padded](const Values& v) { return reduce_window_max(v[0], padded); }));
  out.push_back(call("reduce_window_min", {integers({4, 7}, DType::kU32, 0, 90)},
                     [padded](const Values& v) { return reduce_window_min(v[0], padded); }));
  out.push_back(
      call("select_and_scatter_add", {x, uniform({2, 5}, -1, 1, 6)}, [plain](const Values& v) {
        return select_and_scatter_add(v[0], v[1], plain, WindowSelect::kLargest);
      }));
  out.push_back(
      call("select_and_scatter_add", {x, uniform({4, 3}, -1, 1, 6)}, [padded](const Values& v) {
        return select_and_scatter_add(v[0], v[1], padded, WindowSelect::kLeast);
      }));
  for (const DType dtype : kNarrow) {
    // Different numbers that every dtype has, so that no maximum has ties.
    const HostTensor few({2, 3}, {4.f, 0.5f, 8.f, 1.f, 16.f, 2.f});
    const Window edges{.sizes = {2, 2}, .padding = {{1, 0}, {0, 1}}};
    const HostTensor narrow =
        (is_float(dtype) ? few : integers({2, 3}, DType::kI32, 0, 90)).astype(dtype);
    out.push_back(call("reduce_window_sum", {narrow},
                       [edges](const Values& v) { return reduce_window_sum(v[0], edges); }));
    out.push_back(call("reduce_window_max", {narrow},
                       [edges](const Values& v) { return reduce_window_max(v[0], edges); }));
    out.push_back(call("reduce_window_min", {narrow},
                       [edges](const Values& v) { return reduce_window_min(v[0], edges); }));
  }
  out.push_back(call("reduce_window_max", {y}, [](const Values& v) {
    return max_pool(v[0], {.window = {3, 2}, .strides = {2, 2}, .padding = PaddingRule::kSame});
  }));
  out.push_back(call("reduce_window_sum", {y}, [](const Values& v) {
    return avg_pool(v[0], {.window = {3, 2}, .padding = PaddingRule::kSame},
                    PoolCount::kWithoutPadding);
  }));
}

inline void add_convolutions(std::vector<OpSample>& out) {
  const auto add = [&](const Shape& x, const Shape& kernel, const ConvolutionOptions& options) {
    out.push_back(call("convolution", {uniform(x), uniform(kernel, -1, 1, 3)},
                       [options](const Values& v) { return convolution(v[0], v[1], options); }));
  };
  add({2, 7, 3}, {3, 3, 2}, {.strides = {2}});
  add({2, 4, 5, 4}, {3, 2, 2, 6},
      {.strides = {1, 2}, .padding = PaddingRule::kSame, .feature_groups = 2});
  add({2, 5, 2}, {3, 2, 4}, {.padding = {{2, 1}}, .input_dilation = {2}, .kernel_dilation = {2}});
  add({4, 6, 3}, {2, 3, 4}, {.padding = {{-1, 2}}, .batch_groups = 2});
  add({4, 6, 2}, {2, 2, 4},
      {.strides = {2}, .padding = {{1, 1}}, .kernel_dilation = {3}, .batch_groups = 4});
  // Depthwise.
  add({2, 3, 4, 4}, {2, 2, 1, 3},
      {.dims = convolution_dims("NCHW", "HWIO", "NHWC"), .feature_groups = 3});
  add({4, 6, 5, 3}, {4, 6, 2, 2},
      {.strides = {2, 1}, .dims = convolution_dims("CNWH", "IOHW", "HNWC")});
  add({3, 4}, {4, 2}, {});
  const HostTensor x({1, 3, 2}, {1.f, 2.f, 0.5f, 4.f, 3.f, 2.f});
  const HostTensor kernel({2, 2, 1}, {2.f, 1.f, 1.f, 3.f});
  for (const DType dtype : kNarrow) {
    out.push_back(call("convolution", {x.astype(dtype), kernel.astype(dtype)},
                       [](const Values& v) { return convolution(v[0], v[1]); }));
  }
  out.push_back(call("convolution", {integers({2, 5, 2}), integers({2, 2, 3}, DType::kI32, -3, 3)},
                     [](const Values& v) { return convolution(v[0], v[1]); }));
}

}  // namespace axle::testing::samples
