#include "layers/blocks/join.h"

#include "config/register.h"
#include "ops/elementwise/arithmetic.h"

namespace axle {

Tensor Add::forward(const Tensor& x_BTD, const Tensor& y_BTD) {
  return x_BTD + (weight_ == 1 ? y_BTD : weight_ * y_BTD);
}

AXLE_REGISTER(Join::Dims)
AXLE_REGISTER(Add)

template class LayerRole<Join, Join::Signature>;

}  // namespace axle
