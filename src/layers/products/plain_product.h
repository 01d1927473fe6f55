// The product of activations and a weight as it is.
#pragma once

#include "layers/products/product.h"

namespace axle {

/// y = einsum(spec, x, weight).
class PlainProduct final : public Product {
 public:
  struct Config {
    AXLE_CONFIG(PlainProduct)
  };
  PlainProduct(const Config&, const Dims& dims, const Scope& scope)
      : Product(scope), spec_(dims.spec) {}
  bool can_decode() const override { return true; }

 protected:
  Tensor forward(const Tensor& x, const Tensor& weight) override;

 private:
  std::string spec_;
};

}  // namespace axle
