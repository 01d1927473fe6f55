#include "layers/products/plain_product.h"

#include "config/register.h"
#include "ops/products/einsum.h"

namespace axle {

Tensor PlainProduct::forward(const Tensor& x, const Tensor& weight) {
  return einsum(spec_, x, weight);
}

AXLE_REGISTER(PlainProduct)

}  // namespace axle
