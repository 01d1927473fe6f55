// A short causal convolution along the sequence, one filter a channel.
#pragma once

#include "config/fields/ranged.h"
#include "layers/state_space/lookback.h"

namespace axle {

/// The bound keeps the program small: each position of the filter is a product of its own.
using ConvWidth = Ranged<int64_t, Bounds{.min = 1, .max = 64}>;

/// y[b, t, c] = bias[c] + sum over k of weight[k, c] * x[b, t - (width - 1 - k), c]. Positions
/// before the row or in another segment count as zeros.
///
/// Shapes: x_BTC -> y_BTC, dtype of x.
/// Parameters: weight[width, C], and bias[C] if `bias` is set.
class ShortConv final
    : public LayerRole<ShortConv, Tensor(const Tensor& x_BTC, const MixerContext& context)> {
 public:
  /// The number of channels, given by the parent layer.
  struct Dims {
    /// Size of the last dim of x.
    Positive<int64_t> channels;
    AXLE_CONFIG(Dims, channels)
  };
  static constexpr InputNames kInputs = {"x", "context"};
  struct Config {
    /// Number of positions that a filter covers.
    ConvWidth width = 4;
    /// True: a bias is added.
    bool bias = true;
    AXLE_CONFIG(ShortConv, width, bias)
  };
  ShortConv(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x_BTC, const MixerContext& context) override;

 private:
  int64_t width_;
  Param weight_;
  std::optional<Param> bias_;
  Handle<Lookback> lookback_;
};

}  // namespace axle
