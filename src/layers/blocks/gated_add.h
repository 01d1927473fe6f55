// A residual with a learned gate.
#pragma once

#include "layers/blocks/join.h"

namespace axle {

/// z = x + sigmoid(gate) * y. Parameter: gate, one f32|bf16 scalar.
///
/// Summary: "gate", sigmoid(gate).
class GatedAdd final : public Join {
 public:
  struct Config {
    /// The gate before the sigmoid at the start: any number.
    double initial = 0;
    AXLE_CONFIG(GatedAdd, initial)
  };
  GatedAdd(const Config& cfg, const Dims&, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x_BTD, const Tensor& y_BTD) override;

 private:
  Param gate_;
};

}  // namespace axle
