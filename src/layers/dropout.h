// Dropout.
//
// Source: Srivastava et al. 2014, JMLR 15, section 10 (scaled while training).
#pragma once

#include "nn/layer.h"

namespace axle {

/// While training, zeroes each element with probability `rate` and divides the others by 1 - rate;
/// else x itself.
///
/// Throws ConfigError at construction unless 0 <= rate < 1, and when called in training without a
/// key.
class Dropout final : public LayerRole<Dropout, Tensor(const Tensor& x)> {
 public:
  /// Dropout needs to know no sizes.
  struct Dims {
    AXLE_CONFIG(Dims)
  };
  static constexpr InputNames kInputs = {"x"};
  struct Config {
    /// Share of the elements that become 0 when training; the others grow by 1 / (1 - rate).
    FractionBelowOne rate = 0;
    static constexpr std::string_view kFromNumber = "rate";
    AXLE_CONFIG(Dropout, rate)
  };
  Dropout(const Config& cfg, const Dims&, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  double rate_;
};

}  // namespace axle
