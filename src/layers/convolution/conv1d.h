// Convolution over positions.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   I input features   O output features
#pragma once

#include "layers/convolution/convolution_layer.h"

namespace axle {

/// y[b, s, o] = bias[o] + sum over k and i of x[b, s * stride + k * dilation - low, i] *
/// weight[k, i, o]
///
/// Shapes: x_BTI f32|bf16 -> y[B, windows, O], dtype of x.
/// Parameters: weight[window, I / num_groups, O], and bias[O] if `bias` is set.
/// Throws ConfigError at construction if num_groups does not divide I and O.
/// Decodes if it is causal with stride 1. The state is the inputs that later windows see:
/// inputs[B, (window - 1) * dilation, I].
class Conv1D final : public WeightedConvolution {
 public:
  struct Config {
    /// Number of positions that a window covers.
    Required<Positive<int64_t>> window = REQUIRED;
    /// Distance between neighbouring windows.
    Positive<int64_t> stride = 1;
    /// Distance between neighbouring positions of a window.
    Positive<int64_t> dilation = 1;
    /// Zeros before and after the positions.
    ConvolutionPadding padding = ValidPadding{};
    /// Splits input and output features into this many groups that do not mix. As many as input
    /// features: a depthwise convolution.
    Positive<int64_t> num_groups = 1;
    /// True: a bias is added.
    bool bias = true;
    AXLE_CONFIG(Conv1D, window, stride, dilation, padding, num_groups, bias)
  };
  Conv1D(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override;
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;

 protected:
  Tensor forward(const Tensor& x_BTI, const std::optional<Tensor>& last_index) override;

 private:
  // Number of earlier positions that a causal window covers.
  int64_t num_earlier() const;
};

}  // namespace axle
