// The role MultiProjection: several affine maps of one vector.
#pragma once

#include "nn/layer.h"

namespace axle {

/// x[..., I] -> y[..., N, O], dtype of x: N maps of each vector, independent of the other vectors.
class MultiProjection : public LayerRole<MultiProjection, Tensor(const Tensor& x)> {
 public:
  /// The sizes and the layout of the weight, given by the parent layer.
  struct Dims {
    /// Size of the last dim of x.
    Positive<int64_t> input_dim;
    /// Number of maps.
    Positive<int64_t> num_outputs;
    /// Size of the last dim of y.
    Positive<int64_t> output_dim;
    /// Mesh axes of the weight along its input dim.
    DimAxes input_axes = {};
    /// Mesh axes of the weight along its output dim.
    DimAxes output_axes = {};
    AXLE_CONFIG(Dims, input_dim, num_outputs, output_dim, input_axes, output_axes)
  };
  static constexpr InputNames kInputs = {"x"};
  static constexpr InputVectors kVectors = {&Dims::input_dim};
  using LayerRole::LayerRole;
  bool can_decode() const override { return true; }

 protected:
  friend LayerRole;
  void check_result(const Tensor& y, const Tensor& x) const;
};

extern template class LayerRole<MultiProjection, MultiProjection::Signature>;

}  // namespace axle
