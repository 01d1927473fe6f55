// Paddings of convolution layers, by rules that configs can name.
#pragma once

#include <vector>

#include "config/config_type.h"
#include "config/fields.h"
#include "nn/layer.h"
#include "ops/windows/windows.h"

namespace axle {

/// Zeros before and after each spatial dim, from the windows along these dims.
using ConvolutionPadding = Fn<std::vector<DimPadding>(const SlidingWindow& windows)>;

/// No padding.
struct ValidPadding {
  std::vector<DimPadding> operator()(const SlidingWindow& windows) const;
  AXLE_CONFIG(ValidPadding)
};

/// The window less 1, half before and half after; the end gets an odd element. The window counts
/// with its holes. The amount does not depend on the stride.
struct SamePadding {
  std::vector<DimPadding> operator()(const SlidingWindow& windows) const;
  AXLE_CONFIG(SamePadding)
};

/// The first dim is time: window - stride before it, stride - 1 after it, so that no result sees
/// inputs after its own stride. The other dims are as in SamePadding.
struct CausalPadding {
  std::vector<DimPadding> operator()(const SlidingWindow& windows) const;
  AXLE_CONFIG(CausalPadding)
};

/// Zeros before and after one dim.
struct PaddedDim {
  /// Number of zeros before the dim.
  NonNegative<int64_t> low = 0;
  /// Number of zeros after the dim.
  NonNegative<int64_t> high = 0;
  AXLE_CONFIG(PaddedDim, low, high)
};
/// The given numbers of zeros. Throws ConfigError unless there is an entry for each spatial dim.
struct ExplicitPadding {
  /// An entry for each spatial dim.
  std::vector<PaddedDim> dims = {};
  std::vector<DimPadding> operator()(const SlidingWindow& windows) const;
  AXLE_CONFIG(ExplicitPadding, dims)
};

// The role ConvolutionLayer: windows that slide over positions or pixels. What Conv1D and Conv2D
// share.
//
// Letters in tensor names from here on:
//   B batch   I input features   O output features

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

// Convolution over positions.
//
// Letters in tensor names from here on:
//   B batch   T positions   I input features   O output features

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

// Convolution over pixels, or over time and frequency.
//
// Letters in tensor names from here on:
//   B batch   H height or time   W width   I input features   O output features

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
