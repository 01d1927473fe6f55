// A projection from vectors to logits that shares no weight with the embedding.
#pragma once

#include "layers/dense/projection.h"
#include "layers/products/plain_product.h"

namespace axle {

/// x[..., D] -> logits[..., V], dtype of x. Parameters: weight[V, D], laid out like an embedding.
class LmHead final : public Projection {
 public:
  struct Config {
    /// Multiplies x by the weight.
    Child<Product> product = PlainProduct::Config{};
    AXLE_CONFIG(LmHead, product)
  };
  LmHead(const Config& cfg, const Dims& dims, const Scope& scope);

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Param weight_;
  Handle<Product> product_;
};

}  // namespace axle
