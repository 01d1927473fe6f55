// Attention with linear biases.
//
// Source: Press et al. 2022, arXiv 2108.12409, section 3; slopes as in its reference code.
#pragma once

#include "layers/attention/biases/logit_bias.h"

namespace axle {

/// Adds -slope[n] * |query position - key position| to the logits of head n.
///
/// With N = 2^k heads slope[n] = 2^(-8 (n + 1) / N). Other numbers of heads take the slopes of the
/// next lower power of two, then every second slope of the next higher one.
class ALiBi final : public LogitBias {
 public:
  struct Config {
    AXLE_CONFIG(ALiBi)
  };
  ALiBi(const Config&, const Dims& dims, const Scope& scope)
      : LogitBias(scope), num_heads_(dims.num_heads) {}
  /// Returns the slope of each head.
  static std::vector<float> slopes(int64_t num_heads);

 protected:
  Tensor forward(const TokenPlaces& places) override;
  BiasDependence own_dependence(const TokenPlaces&) const override {
    return BiasDependence::kDistance;
  }

 private:
  int64_t num_heads_;
};

}  // namespace axle
