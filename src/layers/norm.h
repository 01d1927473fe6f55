// The role Norm: layers that rescale the last dim.
#pragma once

#include "nn/layer.h"

namespace axle {

/// x[..., D] -> y[..., D], dtype of x.
class Norm : public LayerRole<Norm, Tensor(const Tensor& x)> {
 public:
  struct Dims {
    int64_t input_dim;
    AXLE_CONFIG(Dims, input_dim)
  };
  static constexpr InputNames kInputs = {"x"};
  using LayerRole::LayerRole;
};

}  // namespace axle
