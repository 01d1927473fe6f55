// Rows of ops/products and ops/windows.
#include "functions/function.h"
#include "ops/ops.h"

namespace axle {
namespace {

// convolution with the names of the dims as texts.
Tensor convolution_by_layout(const Tensor& x, const Tensor& kernel, std::string_view x_layout,
                             std::string_view kernel_layout, std::string_view y_layout,
                             const ConvolutionOptions& options) {
  ConvolutionOptions with_dims = options;
  with_dims.dims = convolution_dims(x_layout, kernel_layout, y_layout);
  return convolution(x, kernel, with_dims);
}

std::vector<Function> products() {
  return {
      function("dot_general(a, b, dims, options)", dot_general),
      function("dot(a, b, options)", dot),
      function("einsum(spec, a, b, options)",
               overload<Tensor(std::string_view, const Tensor&, const Tensor&, const DotOptions&)>(
                   einsum)),
      function("einsum(spec, a)", overload<Tensor(std::string_view, const Tensor&)>(einsum)),
      function("einsum(spec, operands, options)",
               overload<Tensor(std::string_view, const Values&, const DotOptions&)>(einsum)),
      function("contract(a, a_labels, b, b_labels, out, options)", contract),
      function("outer(a, b)", outer),
      function("kron(a, b)", kron),
      function("ragged_dot(lhs, rhs, group_sizes, options)", ragged_dot),
      function("ragged_dot_contracting(lhs, rhs, group_sizes, options)", ragged_dot_contracting),
      function("fft(x, num_dims=1)", fft),
      function("ifft(x, num_dims=1)", ifft),
      function("rfft(x, num_dims=1)", rfft),
      function("irfft(x, size=none, num_dims=1)", irfft),
      function("convolution(x, kernel, options)", convolution),
      function("convolution(x, kernel, x_layout, kernel_layout, y_layout, options)",
               convolution_by_layout)};
}

std::vector<Function> windows() {
  return {function("max_pool(x, options)", max_pool),
          function("min_pool(x, options)", min_pool),
          function("avg_pool(x, options, count=window)", avg_pool),
          function("reduce_window_sum(x, window)", reduce_window_sum),
          function("reduce_window_max(x, window)", reduce_window_max),
          function("reduce_window_min(x, window)", reduce_window_min),
          function("select_and_scatter_add(x, source, window, select)", select_and_scatter_add),
          function("selected_positions(x, window, select)", selected_positions)};
}

const FunctionFamily kProducts(products), kWindows(windows);

}  // namespace
}  // namespace axle
