#include "layers/blocks/stochastic_join.h"

#include "config/register.h"

namespace axle {

Tensor StochasticJoin::forward(const Tensor& x_BTD, const Tensor& y_BTD) {
  const Tensor kept_BTD = drop_(y_BTD);
  return join_(x_BTD, kept_BTD);
}

AXLE_REGISTER(StochasticJoin)

}  // namespace axle
