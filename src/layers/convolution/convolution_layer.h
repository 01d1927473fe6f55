// The role ConvolutionLayer: windows that slide over positions or pixels. What Conv1D and Conv2D
// share.
//
// Letters in tensor names, for this file only:
//   B batch   I input features   O output features
#pragma once

#include "layers/convolution/convolution_padding.h"
#include "nn/layer.h"

namespace axle {

/// x[B, spatial.., I] -> y[B, windows.., O], dtype of x. Positions that hold padding (real_tokens)
/// count as zeros.
class ConvolutionLayer
    : public LayerRole<ConvolutionLayer,
                       Tensor(const Tensor& x, const std::optional<Tensor>& last_index)> {
 public:
  /// The sizes and the layout of the weight, given by the parent layer.
  struct Dims {
    /// Number of input features.
    Positive<int64_t> input_dim;
    /// Number of output features.
    Positive<int64_t> output_dim;
    /// Number of spatial dims of x; none: that of the layer.
    std::optional<Positive<int64_t>> num_spatial_dims = {};
    /// Mesh axes of the weight along its input features.
    DimAxes input_axes = {};
    /// Mesh axes of the weight along its output features.
    DimAxes output_axes = {};
    AXLE_CONFIG(Dims, input_dim, output_dim, num_spatial_dims, input_axes, output_axes)
  };
  /// last_index: i32[B], for decoding: index of the last position of each row in this call.
  /// Positions after it are padding; none: rows have no padding.
  static constexpr InputNames kInputs = {"x", "last_index"};
  using LayerRole::LayerRole;
  using LayerRole::operator();
  Tensor operator()(const Tensor& x) { return (*this)(x, std::nullopt); }

 protected:
  friend LayerRole;
  void check_result(const Tensor& y, const Tensor& x, const std::optional<Tensor>&) const;
};

/// A convolution with a weight[window.., I / num_groups, O] and a bias[O].
class WeightedConvolution : public ConvolutionLayer {
 protected:
  /// The fields that its configs have besides window, strides and dilation.
  struct Fields {
    ConvolutionPadding padding;
    int64_t num_groups;
    bool bias;
  };
  /// Throws ConfigError if the fields do not fit together or to `dims`.
  WeightedConvolution(const SlidingWindow& windows, const Fields& fields, const Dims& dims,
                      const Scope& scope);
  /// Returns the convolution of x, padded by `padding`. Throws ShapeError if x has another number
  /// of dims or of features.
  Tensor convolve(const Tensor& x, const std::vector<DimPadding>& padding) const;
  const SlidingWindow& windows() const { return windows_; }
  const std::vector<DimPadding>& padding() const { return padding_; }
  int64_t input_dim() const { return input_dim_; }

 private:
  SlidingWindow windows_;
  std::vector<DimPadding> padding_;
  int64_t num_groups_, input_dim_;
  Param weight_;
  std::optional<Param> bias_;
};

extern template class LayerRole<ConvolutionLayer, ConvolutionLayer::Signature>;

}  // namespace axle
