// Convolution over pixels, or over time and frequency.
//
// Letters in tensor names, for this file only:
//   B batch   H height or time   W width   I input features   O output features
#pragma once

#include "layers/convolution/convolution_layer.h"

namespace axle {

/// Slides a window over H and W: y[b, windows.., o] is the sum of x_BHWI under the window times
/// weight[.., o], plus bias[o].
///
/// Shapes: x_BHWI f32|bf16 -> y[B, windows along H, windows along W, O], dtype of x.
/// Parameters: weight[window.., I / num_groups, O], and bias[O] if `bias` is set.
/// Throws ConfigError at construction if num_groups does not divide I and O, or if a list has not
/// two entries.
class Conv2D final : public WeightedConvolution {
 public:
  struct Config {
    /// Size of the window along H and W.
    std::vector<Positive<int64_t>> window = {1, 1};
    /// Distance between neighbouring windows along H and W.
    std::vector<Positive<int64_t>> strides = {1, 1};
    /// Distance between neighbouring elements of a window along H and W.
    std::vector<Positive<int64_t>> dilation = {1, 1};
    /// Zeros around H and W.
    ConvolutionPadding padding = ValidPadding{};
    /// Splits input and output features into this many groups that do not mix.
    Positive<int64_t> num_groups = 1;
    /// True: a bias is added.
    bool bias = true;
    AXLE_CONFIG(Conv2D, window, strides, dilation, padding, num_groups, bias)
  };
  Conv2D(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x_BHWI, const std::optional<Tensor>&) override {
    return convolve(x_BHWI, padding());
  }
};

}  // namespace axle
