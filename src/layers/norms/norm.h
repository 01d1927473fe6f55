// The role Norm: layers that normalise the last dim.
#pragma once

#include "nn/layer.h"

namespace axle {

/// x[..., D] -> y[..., D], dtype of x. Each vector is normalised independently of the others.
class Norm : public LayerRole<Norm, Tensor(const Tensor& x)> {
 public:
  /// The size of the vectors, given by the parent layer.
  struct Dims {
    /// Size of the last dim of x.
    Positive<int64_t> input_dim;
    AXLE_CONFIG(Dims, input_dim)
  };
  static constexpr InputNames kInputs = {"x"};
  using LayerRole::LayerRole;
  bool can_decode() const override { return true; }
};

}  // namespace axle
