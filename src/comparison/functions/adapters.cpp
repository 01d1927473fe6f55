#include "comparison/functions/adapters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "transform/transform.h"

namespace axle::by_data {

Tensor convolution(const Tensor& x, const Tensor& kernel, const ConvolutionOptions& options) {
  return axle::convolution(x, kernel, options);
}

Tensor convolution(const Tensor& x, const Tensor& kernel, std::string_view x_layout,
                   std::string_view kernel_layout, std::string_view y_layout,
                   const ConvolutionOptions& options) {
  ConvolutionOptions with_dims = options;
  with_dims.dims = convolution_dims(x_layout, kernel_layout, y_layout);
  return axle::convolution(x, kernel, with_dims);
}

Values call(const Values& arguments, const TensorFunction& fn, std::string_view name) {
  return axle::call(std::string(name), fn, arguments);
}

Values custom_vjp(const Values& arguments, const TensorFunction& forward,
                  const TensorFunction& backward, int64_t num_outputs,
                  const std::vector<int64_t>& without_gradient, std::string_view name) {
  CustomVjp rule{
      .name = std::string(name), .file = "", .line = 0};  // the rule is not written in this file
  rule.forward = [forward, num_outputs](const Values& v) {
    const Values all = forward(v);
    if (num_outputs < 1 || num_outputs > std::ssize(all)) {
      throw ConfigError(
          fmt::format("num_outputs: expected 1 to {}, the number of results of the forward "
                      "function, got {}",
                      all.size(), num_outputs));
    }
    const auto end_of_outputs = all.begin() + num_outputs;
    return WithResiduals{{all.begin(), end_of_outputs}, {end_of_outputs, all.end()}};
  };
  const auto num_gradients = std::ssize(arguments) - std::ssize(without_gradient);
  rule.backward = [backward, without_gradient, name = rule.name, num_gradients](
                      const Values& residuals, const Values& cotangents) {
    Values inputs = residuals;
    std::ranges::copy_if(cotangents, std::back_inserter(inputs),
                         [](const Tensor& g) { return static_cast<bool>(g); });
    Values out;
    try {
      out = backward(inputs);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("custom_vjp {}: {}", name, error.what()));
    }
    if (std::ssize(out) != num_gradients) {
      throw ConfigError(fmt::format(
          "custom_vjp {}: expected a backward function with a result for each of the {} arguments "
          "that have a gradient, got {}",
          name, num_gradients, out.size()));
    }
    // In ascending order, so that each position is that among all arguments.
    for (const int64_t i : without_gradient)
      out.insert(out.begin() + std::min<int64_t>(i, std::ssize(out)), Tensor());
    return out;
  };
  std::vector<int64_t> sorted = without_gradient;
  std::ranges::sort(sorted);
  if (sorted != without_gradient || std::ranges::adjacent_find(sorted) != sorted.end() ||
      (!sorted.empty() && (sorted[0] < 0 || sorted.back() >= std::ssize(arguments)))) {
    throw ConfigError(
        fmt::format("without_gradient: expected ascending numbers of the {} arguments, got [{}]",
                    arguments.size(), fmt::join(without_gradient, ", ")));
  }
  return axle::custom_vjp(rule, arguments);
}

std::pair<Values, Values> jvp(const Values& arguments, const Values& tangents,
                              const TensorFunction& fn) {
  const auto has_tangent = [](const Tensor& x) { return is_differentiable(x.dtype()); };
  if (const auto n = std::ranges::count_if(arguments, has_tangent); n != std::ssize(tangents)) {
    throw ConfigError(fmt::format(
        "tangents: expected one for each of the {} floating-point or complex arguments, got {}", n,
        tangents.size()));
  }
  Values all;
  auto next = tangents.begin();
  for (const Tensor& x : arguments) all.push_back(has_tangent(x) ? *next++ : Tensor());
  return axle::jvp(fn, arguments, all);
}

Values ragged_map(const Values& rows, const Values& groups, const Tensor& group_sizes,
                  const TensorFunction& fn) {
  return axle::ragged_map(fn, rows, groups, group_sizes);
}

}  // namespace axle::by_data
