// A mixer that looks back one token, also in decoding.
//
// Letters in tensor names:
//   B batch   T positions   D model dim
#pragma once

#include <axle/axle.h>

/// Mixes each token with the previous one: x_t -> now * x_t + before * x_{t-1}, with learned
/// weights for each channel. The first token of a sequence has no previous one.
///
/// Shapes: x_BTD of any float dtype -> the same. Decode state: last [B, D], the newest token.
class TokenShift final : public axle::Mixer {
 public:
  struct Config {
    AXLE_CONFIG(TokenShift)
  };
  TokenShift(const Config& cfg, const Dims& dims, const axle::Scope& scope);
  axle::Tree<axle::StateSpec> decode_state_specs(const axle::DecodeDims& dims) const override;

 protected:
  axle::Tensor forward(const axle::Tensor& x_BTD, const axle::MixerContext& context) override;

 private:
  int64_t model_dim_;
  axle::Param now_, before_;
};
