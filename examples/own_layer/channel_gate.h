// A learned gate for each channel.
#pragma once

#include <axle/axle.h>

/// x -> x * sigmoid(x * w), with one learned w per channel. Keeps the shape, so it can replace any
/// Norm.
///
/// Shapes: x [..., D] of any float dtype -> the same.
class ChannelGate final : public axle::Norm {
 public:
  struct Config {
    /// Every w at the start.
    float initial = 1.0f;
    AXLE_CONFIG(ChannelGate, initial)
  };
  ChannelGate(const Config& cfg, const Dims& dims, const axle::Scope& scope);

 protected:
  axle::Tensor forward(const axle::Tensor& x) override;

 private:
  axle::Param w_;
};
