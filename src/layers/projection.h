// The role Projection: affine maps of the last dim.
#pragma once

#include "nn/layer.h"

namespace axle {

/// x[..., I] -> y[..., O], dtype of x; each vector by itself.
class Projection : public LayerRole<Projection, Tensor(const Tensor& x)> {
 public:
  struct Dims {
    int64_t input_dim;
    int64_t output_dim;
    /// Mesh axes of the weight along its input and output dim.
    DimAxes input_axes = {};
    DimAxes output_axes = {};
    AXLE_CONFIG(Dims, input_dim, output_dim, input_axes, output_axes)
  };
  static constexpr InputNames kInputs = {"x"};
  using LayerRole::LayerRole;
  bool can_decode() const override { return true; }
};

}  // namespace axle
