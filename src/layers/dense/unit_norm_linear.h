// An affine map whose weight has columns of length 1.
#pragma once

#include "layers/dense/projection.h"
#include "layers/products/plain_product.h"

namespace axle {

/// x -> x * (weight / the length of each column of weight) + bias. The length is
/// sqrt(sum of squares + 1e-8).
///
/// Shapes: x[..., I] f32|bf16 -> y[..., O], dtype of x.
/// Numerics: the lengths are computed in f32; the divided weight is rounded to its dtype.
/// Parameters: weight[I, O], and bias[O] if `bias` is set.
class UnitNormLinear final : public Projection {
 public:
  struct Config {
    /// True: a bias is added to the product.
    bool bias = true;
    /// Multiplies x by the weight.
    Child<Product> product = PlainProduct::Config{};
    AXLE_CONFIG(UnitNormLinear, bias, product)
  };
  UnitNormLinear(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Param weight_;
  std::optional<Param> bias_;
  Handle<Product> product_;
};

}  // namespace axle
