// A moving average as layer state.
#pragma once

#include "nn/layer.h"

namespace axle {

/// Returns the average of `count` values, of which x is the last, from that of those before it. x
/// has the weight max(min_weight, 1 / count): the average is plain at first and exponential later.
Tensor next_average(const Tensor& average, const Tensor& x, const Tensor& count, double min_weight);

/// x -> the moving average of x over this call and those before it (next_average).
///
/// Shapes: x of shape Dims::shape, any float -> f32 of that shape.
/// State: value (f32, shape of x) and count (i32[]). Training updates them once per call; in other
/// calls the result includes x, and the state stays as it is.
class MovingAverage final : public LayerRole<MovingAverage, Tensor(const Tensor& x)> {
 public:
  /// The shape of the values, given by the parent layer.
  struct Dims {
    /// Shape of x; empty for a scalar.
    std::vector<Positive<int64_t>> shape = {};
    AXLE_CONFIG(Dims, shape)
  };
  static constexpr InputNames kInputs = {"x"};
  struct Config {
    /// The least weight of a new value.
    Required<Fraction> min_weight = REQUIRED;
    AXLE_CONFIG(MovingAverage, min_weight)
  };
  MovingAverage(const Config& cfg, const Dims& dims, const Scope& scope);
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  double min_weight_;
};

}  // namespace axle
