// The role Projection: affine maps of the last dim.
#pragma once

#include "nn/layer.h"

namespace axle {

/// x[..., I] -> y[..., O], dtype of x. Each vector is mapped independently of the others.
class Projection : public LayerRole<Projection, Tensor(const Tensor& x)> {
 public:
  /// The sizes and the layout of the weight, given by the parent layer.
  struct Dims {
    /// Size of the last dim of x.
    Positive<int64_t> input_dim;
    /// Size of the last dim of y.
    Positive<int64_t> output_dim;
    /// Mesh axes of the weight along its input dim.
    DimAxes input_axes = {};
    /// Mesh axes of the weight along its output dim.
    DimAxes output_axes = {};
    AXLE_CONFIG(Dims, input_dim, output_dim, input_axes, output_axes)
  };
  static constexpr InputNames kInputs = {"x"};
  static constexpr InputVectors kVectors = {&Dims::input_dim};
  using LayerRole::LayerRole;
  bool can_decode() const override { return true; }

 protected:
  friend LayerRole;
  void check_result(const Tensor& y, const Tensor& x) const {
    Type expected = x.type();
    expected.dims.back() = given_dims() ? int64_t{given_dims()->output_dim} : kAnySize;
    expect_result(y, expected);
  }
};

extern template class LayerRole<Projection, Projection::Signature>;

}  // namespace axle
