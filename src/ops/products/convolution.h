// Convolutions of any number of spatial dims, with strides, dilations and groups.
//
// The kernel is not flipped: y[n, s, o] = sum over k and i of x[n, s * stride + k - low, i] *
// kernel[k, i, o], what is called a cross-correlation elsewhere.
//
// x and kernel have one dtype, float, integer or complex. The interpreter sums floats in f64 and
// rounds once. As for dot_general, the backward pass first converts the cotangent to the dtype of
// the operands.
#pragma once

#include <optional>
#include <string_view>

#include "ops/products/dot.h"
#include "ops/windows/window.h"

namespace axle {

/// The roles of the dims. The lists of x and y name the batch dim, the feature dim, then the
/// spatial dims. The list of the kernel names the output feature dim, the input feature dim, then
/// the spatial dims.
struct ConvolutionDims {
  std::vector<int64_t> x = {}, kernel = {}, y = {};
};
/// Reads dims from layouts: convolution_dims("NHWC", "HWIO", "NHWC"). N is the batch, C the
/// features, O and I the output and input features; every other letter is a spatial dim. Throws
/// ShapeError if the layouts do not fit together.
ConvolutionDims convolution_dims(std::string_view x, std::string_view kernel, std::string_view y);
/// Returns the dims of layouts with the features last, such as "NHWC", "HWIO", "NHWC".
ConvolutionDims features_last(int64_t num_spatial);

struct ConvolutionOptions {
  /// An entry for each spatial dim; empty: all 1.
  Shape strides = {};
  /// Padding of the spatial dims of x.
  Padding padding = {};
  /// d - 1 zeros between neighbouring elements of x; the strides of a transposed convolution.
  Shape input_dilation = {};
  /// Neighbouring elements of the kernel are d apart.
  Shape kernel_dilation = {};
  /// Empty: features_last.
  ConvolutionDims dims = {};
  /// Splits input and output features into this many groups that do not mix.
  int64_t feature_groups = 1;
  /// Splits the batch and the output features into this many groups: output features of group g see
  /// the examples of group g. At most one of the two numbers of groups may be above 1.
  int64_t batch_groups = 1;
  /// dtype of the result; none: dtype of the operands.
  std::optional<DType> result_dtype = {};
  /// Also used by the backward convolutions.
  Precision precision = Precision::kDefault;
};

/// Shapes, features last: x [N, spatial.., I], kernel [window.., I / feature_groups, O] ->
/// [N / batch_groups, windows.., O]. Throws ShapeError if shapes, dtypes or groups do not fit.
Tensor convolution(const Tensor& x, const Tensor& kernel, const ConvolutionOptions& options = {});

}  // namespace axle
