// Several affine maps of the last dim, as one product.
#pragma once

#include "layers/dense/multi_projection.h"
#include "layers/products/plain_product.h"

namespace axle {

/// y[..., n, :] = x * weight[:, n, :] + bias[n, :].
///
/// Shapes: x[..., I] f32|bf16 -> y[..., N, O], dtype of x.
/// Parameters: weight[I, N, O], whose fan out is N * O, and bias[N, O] if `bias` is set.
class MultiLinear final : public MultiProjection {
 public:
  struct Config {
    /// True: a bias is added to the products.
    bool bias = true;
    /// Multiplies x by the weight.
    Child<Product> product = PlainProduct::Config{};
    AXLE_CONFIG(MultiLinear, bias, product)
  };
  MultiLinear(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Param weight_;
  std::optional<Param> bias_;
  Handle<Product> product_;
};

}  // namespace axle
