// An affine map of the last dim.
#pragma once

#include "layers/dense/projection.h"
#include "layers/products/plain_product.h"

namespace axle {

/// x -> x * weight + bias.
///
/// Shapes: x[..., I] f32|bf16 -> y[..., O], dtype of x.
/// Parameters: weight[I, O], and bias[O] if `bias` is set.
class Linear final : public Projection {
 public:
  struct Config {
    /// True: a bias is added to x * weight.
    bool bias = true;
    /// Multiplies x by the weight.
    Child<Product> product = PlainProduct::Config{};
    AXLE_CONFIG(Linear, bias, product)
  };
  Linear(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Param weight_;
  std::optional<Param> bias_;
  Handle<Product> product_;
};

}  // namespace axle
