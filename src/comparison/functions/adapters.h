// Functions that data calls instead of the public ones with their names (cmake/function_table.py):
// these take what data can't say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/products/products.h"
#include "transform/trace.h"

namespace axle::by_data {

Tensor convolution(const Tensor& x, const Tensor& kernel, const ConvolutionOptions& options);
/// The same with the names of the dims as texts.
Tensor convolution(const Tensor& x, const Tensor& kernel, std::string_view x_layout,
                   std::string_view kernel_layout, std::string_view y_layout,
                   const ConvolutionOptions& options);

Values call(const Values& arguments, const TensorFunction& fn, std::string_view name = "fn");
/// `forward` returns the outputs, then the residuals. `backward` takes the residuals, then the
/// cotangents of the outputs that have one. It returns the cotangents of the other arguments than
/// `without_gradient`.
Values custom_vjp(const Values& arguments, const TensorFunction& forward,
                  const TensorFunction& backward, int64_t num_outputs = 1,
                  const std::vector<int64_t>& without_gradient = {},
                  std::string_view name = "rule");
/// The tangents are for the arguments that are floating-point or complex. Returns the outputs,
/// then the derivatives of those that have one.
std::pair<Values, Values> jvp(const Values& arguments, const Values& tangents,
                              const TensorFunction& fn);
Values ragged_map(const Values& rows, const Values& groups, const Tensor& group_sizes,
                  const TensorFunction& fn);

}  // namespace axle::by_data
