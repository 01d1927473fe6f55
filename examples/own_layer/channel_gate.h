// A gate of each channel by itself.
#pragma once

#include <axle/axle.h>

/// x -> x * sigmoid(x * w), one learned w a channel. Keeps the shape, so it may stand wherever a
/// Norm stands.
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
